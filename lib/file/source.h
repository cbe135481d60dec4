// Random access to the bytes of a file, wherever they are: mapped, read on demand, the host's
// memory or the host's callbacks (a game's archive).
#ifndef KRAFLA_LIB_FILE_SOURCE_H_
#define KRAFLA_LIB_FILE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/status.h"

namespace krafla {

class FileSource {
 public:
  virtual ~FileSource() = default;
  virtual uint64_t size() const = 0;
  // All size() bytes in place, or null where they are not in memory. At least 64-byte aligned for a
  // mapping; the host's memory may have any alignment.
  virtual const std::byte* data() const { return nullptr; }
  // Reads exactly n bytes; a range beyond size() is a FileError, a failing read an IoError.
  // Thread-safe (for callbacks: as far as the host's function is).
  virtual Status ReadAt(uint64_t offset, void* out, size_t n) const = 0;
  // The open file behind it and where in that byte 0 lies; null where there is none to read from,
  // or where its bytes are in memory.
  virtual const class NativeFile* file(uint64_t* /*base*/) const { return nullptr; }
  // FileError where a mapped file is not as it was opened: its bytes may be of the old and of the
  // new one, or gone. Seen afterwards only.
  virtual Status CheckUnchanged() const { return OkStatus(); }
  const std::string& name() const { return name_; }  // for messages

 protected:
  explicit FileSource(std::string name) : name_(std::move(name)) {}

 private:
  std::string name_;
};

StatusOr<std::unique_ptr<FileSource>> OpenMapped(std::string_view path);
StatusOr<std::unique_ptr<FileSource>> OpenForReading(std::string_view path);  // pread
// `size` bytes (0: to the end) at `offset` of an open file (NativeFile::Duplicate), which stays the
// caller's. map: as OpenMapped, else as OpenForReading.
StatusOr<std::unique_ptr<FileSource>> OpenDescriptor(int32_t handle, uint64_t offset, uint64_t size,
                                                     bool map);
std::unique_ptr<FileSource> OpenMemory(const void* data, size_t size);  // not copied, not owned

// Returns 0 when all n bytes were read.
using ReadFunction = int (*)(void* user, uint64_t offset, void* out, size_t n);
std::unique_ptr<FileSource> OpenCallback(ReadFunction read, void* user, uint64_t size);

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_SOURCE_H_

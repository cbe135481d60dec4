// A regular file of the operating system: the few operations that everything in lib/file is made
// of, once for POSIX and once for Windows (native_file_posix.cc, native_file_windows.cc). Paths are
// UTF-8. Every message begins with the file's name.
#ifndef KRAFLA_LIB_FILE_NATIVE_FILE_H_
#define KRAFLA_LIB_FILE_NATIVE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "lib/base/status.h"

namespace krafla {

// Bytes of a file in memory; gone with the object. Shared: a writable one changes the file.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), size_(other.size_), data_(other.data_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(size_, other.size_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Mapping();
  std::byte* data() const { return data_; }

 private:
  friend class NativeFile;
  void* base_ = nullptr;  // where the pages begin, `data_` somewhere in the first
  size_t size_ = 0;       // from there
  std::byte* data_ = nullptr;
};

class NativeFile {
 public:
  enum class Use {
    kRead,     // an existing file
    kNew,      // made by this call: what has the name is removed first
    kPrivate,  // the same, for its owner alone from the first moment (Windows: as the folder has
               // it)
    kPartial,  // an existing or a new one, locked: IoError where another process is at it, or where
               // it is not a regular file of one name
    kTemporary,  // an existing one, for reading and writing, that is deleted with this object
  };

  NativeFile() = default;
  NativeFile(NativeFile&& other) noexcept
      : name_(std::move(other.name_)),
        handle_(std::exchange(other.handle_, kNone)),
        overlapped_(other.overlapped_) {}
  NativeFile& operator=(NativeFile&& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(handle_, other.handle_);
    std::swap(overlapped_, other.overlapped_);
    return *this;
  }
  ~NativeFile() { Close(); }

  // NotFoundError (kRead), IoError, ArgumentError for what cannot be a path.
  static StatusOr<NativeFile> Open(std::string_view path, Use use);
  // The caller's open file, which stays the caller's: a descriptor, or on Windows a HANDLE (whose
  // upper half says nothing).
  static StatusOr<NativeFile> Duplicate(int32_t handle);

  // The same file once more, read past the system's page cache where `direct`: offsets, addresses
  // and lengths must then be multiples of 4096. UnsupportedError where that is not possible.
  StatusOr<NativeFile> Reopen(bool direct) const;
  int descriptor() const { return static_cast<int>(handle_); }  // POSIX

  bool is_open() const { return handle_ != kNone; }
  void Close();
  void Remove();  // closes it and takes its name away
  // Closes it and gives it another name, in one step for all who look, and on the disk as far as
  // the system does that. Remove does nothing afterwards, but still does after an error.
  Status MoveTo(const std::string& path);
  const std::string& name() const { return name_; }

  StatusOr<uint64_t> Size() const;
  struct FileStamp Stamp() const;        // of the open file, whatever has its name now
  Status SetSize(uint64_t bytes) const;  // what was not written reads as zeros
  // Thread-safe. At least one byte, at most n; reading, 0 is the end of the file.
  StatusOr<size_t> ReadSome(uint64_t offset, void* out, size_t n) const;
  StatusOr<size_t> WriteSome(uint64_t offset, const void* data, size_t n) const;
  // A hint that these bytes will be read soon.
  void WillNeed(uint64_t offset, uint64_t n) const;
  // Returns when the bytes (Sync: and what is known of the file) are on the disk.
  Status SyncData() const;
  Status Sync() const;
  StatusOr<Mapping> Map(uint64_t offset, size_t size, bool writable) const;

 private:
  static constexpr intptr_t kNone = -1;
  std::string name_;
  intptr_t handle_ = kNone;  // a descriptor or a HANDLE: both have -1 for none
  bool overlapped_ = false;  // a HANDLE whose reads do not wait for each other
};

bool IsOtherThanFile(const std::string& path);  // a folder, a device; not what is absent
int64_t ProcessId();

// What tells one state of an input from another; zeros where there is no such file.
struct FileStamp {
  uint64_t bytes;
  uint64_t modified_ns;
  uint64_t inode;
  uint64_t disk_bytes;  // that it occupies: a file with holes has fewer than `bytes`
};
FileStamp StampOf(const std::string& path);

// Bytes that the file system of `path`'s folder has free for this user.
StatusOr<uint64_t> FreeDiskBytes(std::string_view path);

// Whether two paths name one existing file, through symbolic and hard links too. Absent: false.
bool SameFile(const std::string& a, const std::string& b);

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_NATIVE_FILE_H_

// A file that appears under its name only when it is complete: written under a temporary name in
// the same folder, synced, renamed, and the folder synced. A failure or a destruction before that
// removes the temporary; a killed process leaves it, under a name that nothing takes for a result.
#ifndef KRAFLA_LIB_FILE_OUTPUT_FILE_H_
#define KRAFLA_LIB_FILE_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace krafla {

class OutputFile {
 public:
  // Creates "<path>.partial-<process id>". An existing file at `path` stays until Commit replaces
  // it.
  static StatusOr<std::unique_ptr<OutputFile>> Create(std::string_view path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  Status WriteAt(uint64_t offset, const void* data, size_t n);
  Status SetSize(uint64_t bytes);  // what was not written reads as zeros
  Status Commit();                 // afterwards the object does nothing more

 private:
  explicit OutputFile(std::string_view path);
  std::string path_;
  std::string folder_;  // kept, so that nothing can fail once the rename is done
  std::string temporary_;
  int fd_ = -1;
};

// Bytes that the file system of `path`'s folder has free for this user.
StatusOr<uint64_t> FreeDiskBytes(std::string_view path);

// Whether two paths name one existing file, through symbolic and hard links too. Absent: false.
bool SameFile(const std::string& a, const std::string& b);

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_OUTPUT_FILE_H_

// A file that appears under its name only when it is complete: written under a temporary name in
// the same folder, synced, renamed, and the folder synced. A failure or a destruction before that
// removes the temporary, unless it was made to be kept; a killed process leaves it, under a name
// that nothing takes for a result.
#ifndef KRAFLA_LIB_FILE_OUTPUT_FILE_H_
#define KRAFLA_LIB_FILE_OUTPUT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/file/native_file.h"

namespace krafla {

class OutputFile {
 public:
  // Creates "<path>.partial-<process id>". An existing file at `path` stays until Commit replaces
  // it.
  // begins: how files of this kind begin, see CheckReplaces. use: kNew or kPrivate.
  static StatusOr<std::unique_ptr<OutputFile>> Create(std::string_view path,
                                                      std::string_view begins = {},
                                                      NativeFile::Use use = NativeFile::Use::kNew);
  // Opens or creates "<path>.partial", a name that the next process finds again, with what it
  // holds. IoError: another process is at it, or it is not a regular file of one name.
  static StatusOr<std::unique_ptr<OutputFile>> OpenPartial(std::string_view path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The two are thread-safe.
  Status WriteAt(uint64_t offset, const void* data, size_t n) const;
  Status SyncData() const;  // returns when all that was written before is on the disk
  Status ReadAt(uint64_t offset, void* out, size_t n) const;  // of a partial; all n bytes
  StatusOr<uint64_t> Size() const;
  Status SetSize(uint64_t bytes);  // what was not written reads as zeros
  void Keep() { keep_ = true; }    // a destruction leaves the temporary
  Status Commit();                 // afterwards the object does nothing more

 private:
  explicit OutputFile(std::string_view path);
  std::string path_;
  NativeFile file_;  // under its temporary name
  bool keep_ = false;
};

// ArgumentError where there is a file at `path` that neither is empty nor begins so: it is somebody
// else's, perhaps what the program reads.
Status CheckReplaces(std::string_view path, std::string_view begins);

std::string PartialName(std::string_view path);  // "<path>.partial"

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_OUTPUT_FILE_H_

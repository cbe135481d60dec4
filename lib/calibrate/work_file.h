// A .mlb in f32 whose tensors can be changed while a model is open on it: mapped shared and
// writable, so that what it holds is on the disk and memory stays the system's to give and take.
#ifndef KRAFLA_LIB_CALIBRATE_WORK_FILE_H_
#define KRAFLA_LIB_CALIBRATE_WORK_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "lib/base/status.h"
#include "lib/file/native_file.h"

namespace krafla {

class WorkFile {
 public:
  // The name is gone afterwards, or (Windows) when this object is; so is then the space.
  static StatusOr<std::unique_ptr<WorkFile>> Take(const std::string& path);
  WorkFile(const WorkFile&) = delete;
  WorkFile& operator=(const WorkFile&) = delete;

  std::byte* data() const { return mapping_.data(); }
  size_t size() const { return size_; }

 private:
  WorkFile(NativeFile file, Mapping mapping, size_t size)
      : file_(std::move(file)), mapping_(std::move(mapping)), size_(size) {}
  NativeFile file_;
  Mapping mapping_;  // gone before the file is
  size_t size_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_WORK_FILE_H_

// A .mlb in f32 whose tensors can be changed while a model is open on it: mapped shared and
// writable, so that what it holds is on the disk and memory stays the system's to give and take.
#ifndef KRAFLA_LIB_CALIBRATE_WORK_FILE_H_
#define KRAFLA_LIB_CALIBRATE_WORK_FILE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "lib/base/status.h"

namespace krafla {

class WorkFile {
 public:
  // The name is gone afterwards: the space is free again when this object is, or its process.
  static StatusOr<std::unique_ptr<WorkFile>> Take(const std::string& path);
  ~WorkFile();
  WorkFile(const WorkFile&) = delete;
  WorkFile& operator=(const WorkFile&) = delete;

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  WorkFile(std::byte* data, size_t size) : data_(data), size_(size) {}
  std::byte* data_;
  size_t size_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_WORK_FILE_H_

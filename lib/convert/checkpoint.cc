// The tensors in order of their names, so that a name is found by bisection and comes once.
#include "lib/convert/checkpoint.h"

#include <algorithm>
#include <utility>

namespace krafla {
std::string ShapeText(std::span<const uint64_t> shape) {
  std::string text;
  for (const uint64_t dim : shape) text += FormatText("{}{}", text.empty() ? "" : "x", dim);
  return text.empty() ? "scalar" : text;
}

const FileSource* Checkpoint::AddFile(std::unique_ptr<FileSource> file) {
  files_.push_back(std::move(file));
  return files_.back().get();
}

void Checkpoint::Rename(std::string (*name)(std::string_view)) {
  for (CheckpointTensor& tensor : tensors_) tensor.name = name(tensor.name);
}

Status Checkpoint::Finish() {
  std::sort(tensors_.begin(), tensors_.end(),
            [](const CheckpointTensor& a, const CheckpointTensor& b) { return a.name < b.name; });
  for (size_t i = 1; i < tensors_.size(); i++) {
    const CheckpointTensor& tensor = tensors_[i];
    if (tensor.name != tensors_[i - 1].name) continue;
    return FileError("tensor {} comes twice: in {} and {}", tensor.name,
                     tensors_[i - 1].file->name(), tensor.file->name());
  }
  return OkStatus();
}

const CheckpointTensor* Checkpoint::Find(std::string_view name) const {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const CheckpointTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

Status ReadRawRows(const CheckpointTensor& tensor, uint64_t row, uint64_t n, void* out) {
  const uint64_t row_bytes = tensor.row_bytes();
  return tensor.file->ReadAt(tensor.offset + row * row_bytes, out,
                             static_cast<size_t>(n * row_bytes));
}

void DecodeRows(const CheckpointTensor& tensor, const void* raw, uint64_t n, float* out) {
  DecodeElements(tensor.type, raw, n * tensor.cols(), out);
}

}  // namespace krafla

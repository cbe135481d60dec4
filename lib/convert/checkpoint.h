// The tensors of a checkpoint, whatever its format: where each lies in which file, and its rows as
// f32 or as they are. safetensors.cc and gguf.cc fill it; everything in it has been checked against
// the files' sizes.
#ifndef KRAFLA_LIB_CONVERT_CHECKPOINT_H_
#define KRAFLA_LIB_CONVERT_CHECKPOINT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/source_type.h"
#include "lib/file/source.h"

namespace krafla {

struct CheckpointTensor {
  std::string name;
  SourceType type = SourceType::kOther;
  std::string type_name;        // as the file calls it
  std::vector<uint64_t> shape;  // rows first; cols run together
  const FileSource* file = nullptr;
  uint64_t offset = 0;  // in the file
  uint64_t bytes = 0;

  uint64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  uint64_t row_bytes() const {
    const SourceTypeSize size = SizeOf(type);
    return cols() / size.block * size.block_bytes;
  }
};

std::string ShapeText(std::span<const uint64_t> shape);  // "4096x4095"

class Checkpoint {
 public:
  // Keeps a file that tensors lie in.
  const FileSource* AddFile(std::unique_ptr<FileSource> file);
  void Add(CheckpointTensor tensor) { tensors_.push_back(std::move(tensor)); }
  // Gives every tensor the name that `name` makes of its own; Finish comes after it.
  void Rename(std::string (*name)(std::string_view));
  // Sorts by name; FileError: a name that comes twice.
  Status Finish();

  std::span<const CheckpointTensor> tensors() const { return tensors_; }
  const CheckpointTensor* Find(std::string_view name) const;  // null: absent

 private:
  std::vector<std::unique_ptr<FileSource>> files_;
  std::vector<CheckpointTensor> tensors_;
};

// Rows [row, row + n) of a tensor that is not kOther, as its file has them, and as f32 (cols()
// each).
Status ReadRawRows(const CheckpointTensor& tensor, uint64_t row, uint64_t n, void* out);
void DecodeRows(const CheckpointTensor& tensor, const void* raw, uint64_t n, float* out);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_CHECKPOINT_H_

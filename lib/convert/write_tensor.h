// One tensor of the plan from its checkpoint into the .mlb, a few tiles at a time, so that memory
// stays small whatever the tensor.
#ifndef KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_
#define KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_

#include <cstdint>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/convert.h"
#include "lib/convert/plan.h"
#include "lib/file/mlb_writer.h"

namespace krafla {

uint64_t PlannedBytes(const PlannedTensor& planned);  // in the .mlb

// Row of the source that holds row `row` of a matrix whose GGUF form has each head's rotary halves
// interleaved (TensorSpec::gguf_permuted_heads).
uint64_t PermutedRow(uint64_t row, uint64_t head_rows);

class TensorWriter {
 public:
  TensorWriter(MlbWriter* writer, ConvertProgress progress, void* user, uint64_t total)
      : writer_(writer), progress_(progress), user_(user), total_(total) {}

  Status Write(size_t index, const PlannedTensor& planned);

 private:
  Status WriteVector(size_t index, const PlannedTensor& planned);
  Status WriteMatrix(size_t index, const PlannedTensor& planned);
  Status ReadRows(const PlannedTensor& planned, uint64_t row, uint64_t n);
  Status PackTiles(const PlannedTensor& planned, uint64_t row, uint64_t n);
  Status Append(size_t index, const void* data, size_t n);

  MlbWriter* writer_;
  ConvertProgress progress_;
  void* user_;
  uint64_t total_;
  uint64_t done_ = 0;
  std::vector<char> raw_;    // rows as the checkpoint has them
  std::vector<float> rows_;  // the same as f32
  std::vector<char> tiles_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_WRITE_TENSOR_H_

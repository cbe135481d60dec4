// Reads from each tensor of a checkpoint that a parser has accepted: what it accepted must be
// there.
#ifndef KRAFLA_TESTS_FUZZ_CHECKPOINT_ROWS_H_
#define KRAFLA_TESTS_FUZZ_CHECKPOINT_ROWS_H_

#include <vector>

#include "lib/convert/checkpoint.h"
#include "tests/fuzz/target.h"

namespace krafla {

inline void ReadFirstRows(const Checkpoint& checkpoint) {
  for (const CheckpointTensor& tensor : checkpoint.tensors()) {
    KRAFLA_MUST(checkpoint.Find(tensor.name) != nullptr);
    if (tensor.bytes == 0) continue;
    std::vector<char> raw(tensor.row_bytes());
    KRAFLA_MUST(ReadRawRows(tensor, 0, 1, raw.data()).ok());
    if (tensor.type == SourceType::kOther) continue;
    std::vector<float> row(tensor.cols());
    DecodeRows(tensor, raw.data(), 1, row.data());
  }
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_FUZZ_CHECKPOINT_ROWS_H_

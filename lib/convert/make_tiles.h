// Rows of a checkpoint into tiles of the .mlb's layout: which rows, and the way that keeps most.
#ifndef KRAFLA_LIB_CONVERT_MAKE_TILES_H_
#define KRAFLA_LIB_CONVERT_MAKE_TILES_H_

#include <cstdint>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/plan.h"

namespace krafla {

// Row of the source that holds row `row` of a matrix whose GGUF form has each head's rotary halves
// interleaved (TensorSpec::gguf_permuted_heads).
uint64_t PermutedRow(uint64_t row, uint64_t head_rows);

// Rows [row, row + n) of our matrix `expert` (0 where there is one), of the checkpoint's type, into
// raw.
Status ReadPlannedRows(const PlannedTensor& planned, uint64_t expert, uint64_t row, uint64_t n,
                       char* raw);
// All elements of a vector.
StatusOr<std::vector<float>> ReadPlannedVector(const PlannedTensor& planned);

// The n rows of raw, the first of which is `row` (a multiple of 16), into tiles; rows is scratch of
// n * cols. FileError: a value that is not finite or does not fit the format.
Status MakeTiles(const PlannedTensor& planned, uint64_t row, uint64_t n, const char* raw,
                 std::vector<float>* rows, char* tiles);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_MAKE_TILES_H_

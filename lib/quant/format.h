// Weight formats: names, ids, sizes, and the packing of rows into 16-row tiles (kernels/kernels.h
// has the layouts). formats.def has one row a format.
#ifndef KRAFLA_LIB_QUANT_FORMAT_H_
#define KRAFLA_LIB_QUANT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/base/status.h"

namespace krafla {

enum class Format : uint32_t {
#define X(name, kName, id, bytes, block, quantized) kName = id,
#include "lib/quant/formats.def"
#undef X
};

// How scale and zero of an affine group are found: together by least squares, or by the published
// HQQ solver.
enum class AffineSolver : uint8_t { kLeastSquares, kHqq };

StatusOr<Format> ParseFormat(std::string_view name);  // "q8"; ArgumentError lists the names
StatusOr<Format> FormatFromId(uint32_t id);           // a file's type id
std::string_view FormatName(Format format);
uint64_t TileBytes(Format format, uint64_t cols);  // one tile of 16 rows
uint64_t MatrixBytes(Format format, uint64_t rows, uint64_t cols);
bool IsQuantized(Format format);

// n_rows <= 16 rows of f32, ld floats apart, into one tile; absent rows and the k beyond cols are
// zeros. q8: d = f16(amax / 127); q4: docs/formats.md has the rule. A value that is not finite, or
// too large for the format, is a FileError that names its row (of these) and column.
Status PackTile(Format format, const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile,
                AffineSolver solver = AffineSolver::kLeastSquares);

// n_rows rows of GGUF blocks (Q8_0: f16 d, 32 int8; Q4_0: f16 d, 16 bytes of nibbles), values
// unchanged. A scale that is not finite is a FileError.
Status PackTileFromQ8_0(const void* const* rows, size_t n_rows, size_t n_blocks, void* tile);
Status PackTileFromQ4_0(const void* const* rows, size_t n_rows, size_t n_blocks, void* tile);

// The same for blocks of 32 values s * q + m, q in 0 .. 63 (GGUF's Q4_0, Q4_1, Q5_0, Q5_1, Q4_K,
// Q5_K), into q4a or q6a; no more is lost than s and m as f16. FileError: they are too large.
struct AffineBlock {
  float s;
  float m;
  uint8_t q[32];
};
Status PackTileFromAffine(Format format, const AffineBlock* const* rows, size_t n_rows,
                          size_t n_blocks, void* tile);

}  // namespace krafla

#endif  // KRAFLA_LIB_QUANT_FORMAT_H_

// q4a, q6a, q8a and their forms with groups of 64: 16 rows become lanes, group by group.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "lib/quant/affine.h"
#include "lib/quant/format.h"
#include "lib/quant/half.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

constexpr float kMaxF16 = 65504.0f;

Lanes SquareRoot(Lanes x) {
  for (size_t r = 0; r < kTileRows; ++r) x[r] = std::sqrt(x[r]);
  return x;
}

// s spans the range and m may be any value of it, so both fit where the values themselves do.
Status CheckRange(Format format, const float* row, size_t r, size_t cols) {
  for (size_t k = 0; k < cols; ++k) {
    if (std::fabs(row[k]) > kMaxF16) {
      return FileError("row {}, column {}: {} is too large for {}", r, k, row[k],
                       FormatName(format));
    }
  }
  return OkStatus();
}

}  // namespace

Status PackAffine(Format format, AffineSolver solver, const float* rows, size_t ld, size_t n_rows,
                  size_t cols, void* tile) {
  const AffineFormat affine = AffineOf(format);
  Lanes mean_square = {};
  for (size_t r = 0; r < n_rows; ++r) {
    KRAFLA_RETURN_IF_ERROR(CheckRange(format, rows + r * ld, r, cols));
    mean_square[r] = MeanSquare(rows + r * ld, cols);
  }
  // Rows that are zero or absent weigh all columns alike.
  mean_square = mean_square > 1e-30f ? mean_square : Lanes{} + 1.0f;
  for (size_t begin = 0; begin < cols; begin += affine.group) {
    const size_t n = std::min(affine.group, cols - begin);
    Lanes x[kMaxGroup] = {};
    Lanes w[kMaxGroup];
    for (size_t k = 0; k < n; ++k) {
      for (size_t r = 0; r < n_rows; ++r) x[k][r] = rows[r * ld + begin + k];
      w[k] = SquareRoot(1.0f + x[k] * x[k] / mean_square);
    }
    const AffineScales scales = FitAffine(affine, solver, x, w, n);
    Lanes codes[kMaxGroup];
    for (size_t k = 0; k < n; ++k) codes[k] = AffineCode(affine, scales, x[k]);
    StoreGroup(format, scales, codes, n, GroupAt(format, tile, begin / affine.group));
  }
  return OkStatus();
}

Status PackTileFromAffine(Format format, const AffineBlock* const* rows, size_t n_rows,
                          size_t n_blocks, void* tile) {
  for (size_t b = 0; b < n_blocks; ++b) {
    AffineScales scales = {};
    Lanes codes[kBlock] = {};
    for (size_t r = 0; r < n_rows; ++r) {
      const AffineBlock& block = rows[r][b];
      for (const float value : {block.s, block.m}) {
        if (!(std::fabs(value) <= kMaxF16)) {
          return FileError("row {}, columns {}..: scale {}", r, b * kBlock, value);
        }
      }
      scales.s[r] = block.s;
      scales.m[r] = block.m;
      for (size_t k = 0; k < kBlock; ++k) codes[k][r] = block.q[k];
    }
    StoreGroup(format, scales, codes, kBlock, GroupAt(format, tile, b));
  }
  return OkStatus();
}

}  // namespace krafla

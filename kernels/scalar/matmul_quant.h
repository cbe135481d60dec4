// Tiles of quantised weights x blocks of activations, the plain loop for any block layout. Integer
// sums inside a block are exact; blocks add up in ascending order, which is what every build must
// keep.
#ifndef KRAFLA_KERNELS_SCALAR_MATMUL_QUANT_H_
#define KRAFLA_KERNELS_SCALAR_MATMUL_QUANT_H_

#include "kernels/scalar/tiles.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

template <class Format>
inline float dot_row(const uint8_t* tile, size_t row, size_t n_blocks, const ActBlock* x) {
  float acc = 0.0f;
  for (size_t b = 0; b < n_blocks; ++b) {
    const uint8_t* block = tile + b * Format::kBytes;
    int32_t isum = 0;
    for (size_t k = 0; k < kBlock; ++k) isum += Format::code(block, row, k) * x[b].q[k];
    acc = acc + static_cast<float>(isum) * (f16_at(block, row) * x[b].d);
  }
  return acc;
}

template <class Format>
inline void matmul_quant(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
                         const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const uint8_t* tile = static_cast<const uint8_t*>(w) + i * n_blocks * Format::kBytes;
    for (size_t t = 0; t < n_tokens; ++t) {
      for (size_t r = 0; r < kTileRows; ++r) {
        y[t * ldy + kTileRows * i + r] = dot_row<Format>(tile, r, n_blocks, x + t * n_blocks);
      }
    }
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_MATMUL_QUANT_H_

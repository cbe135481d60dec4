// Affine weights x activations: the meaning. A block's sum of products with the codes takes s, its
// sum of activations takes m.
#include "kernels/scalar/tiles.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

template <class Format>
inline float dot_row(const uint8_t* tile, size_t row, size_t n_blocks, const ActBlock* x) {
  float acc = 0.0f;
  for (size_t b = 0; b < n_blocks; ++b) {
    const size_t k = b * kBlock;
    const uint8_t* group = tile + k / Format::kGroup * Format::kBytes;
    int32_t isum = 0;
    for (size_t j = 0; j < kBlock; ++j) {
      isum += Format::code(group, row, k % Format::kGroup + j) * x[b].q[j];
    }
    const float s = f16_at(group, row);
    const float m = f16_at(group + kAffineScales / 2, row);
    acc = acc +
          (static_cast<float>(isum) * (s * x[b].d) + m * (static_cast<float>(x[b].sum) * x[b].d));
  }
  return acc;
}

template <class Format>
inline void matmul_affine(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
                          const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  const size_t n_groups = (n_blocks * kBlock + Format::kGroup - 1) / Format::kGroup;
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const uint8_t* tile = static_cast<const uint8_t*>(w) + i * n_groups * Format::kBytes;
    for (size_t t = 0; t < n_tokens; ++t) {
      for (size_t r = 0; r < kTileRows; ++r) {
        y[t * ldy + kTileRows * i + r] = dot_row<Format>(tile, r, n_blocks, x + t * n_blocks);
      }
    }
  }
}

}  // namespace

KRAFLA_MATMUL_AFFINE(q4a) {
  matmul_affine<Q4A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q4a64) {
  matmul_affine<Q4A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q6a) {
  matmul_affine<Q6A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q6a64) {
  matmul_affine<Q6A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q8a) {
  matmul_affine<Q8A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q8a64) {
  matmul_affine<Q8A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

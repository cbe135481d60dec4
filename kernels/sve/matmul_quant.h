// Tiles of quantised weights x blocks of activations on SVE of any vector length: a predicate over
// the tile's 16 rows stands for the width, so 128 bits take four rounds and 512 or more take one.
// Up to four tokens share the unpacked codes. Scalable vectors cannot be array elements or members,
// hence the names with numbers.
#ifndef KRAFLA_KERNELS_SVE_MATMUL_QUANT_H_
#define KRAFLA_KERNELS_SVE_MATMUL_QUANT_H_

#include <arm_sve.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kSveTokens = 4;

inline svint8_t four_of(const ActBlock& x, size_t quad) {
  int32_t four;
  memcpy(&four, x.q + 4 * quad, sizeof four);
  return svreinterpret_s8_s32(svdup_n_s32(four));
}

// acc + float(sum) * (scale * d), each operation rounded.
inline svfloat32_t add_block(svbool_t rows, svfloat32_t acc, svint32_t sum, svfloat32_t scale,
                             float d) {
  const svfloat32_t factor = svmul_n_f32_x(rows, scale, d);
  return svadd_f32_x(rows, acc, svmul_f32_x(rows, svcvt_f32_s32_x(rows, sum), factor));
}

// Format: kBytes of a tile-block; kOffset, what its codes are too large by; codes(rows, block,
// quad, first row).
template <class Format, size_t kTokens>
[[gnu::noinline]] void sve_tile(const uint8_t* tile, size_t n_blocks, const ActBlock* x, float* y,
                                size_t ldy) {
  for (size_t first = 0; first < kTileRows; first += svcntw()) {
    const svbool_t rows = svwhilelt_b32_u64(first, kTileRows);
    svfloat32_t acc0 = svdup_n_f32(0), acc1 = acc0, acc2 = acc0, acc3 = acc0;
    for (size_t b = 0; b < n_blocks; ++b) {
      const uint8_t* block = tile + b * Format::kBytes;
      const ActBlock &x0 = x[b], &x1 = x[kTokens > 1 ? n_blocks + b : b],
                     &x2 = x[kTokens > 2 ? 2 * n_blocks + b : b],
                     &x3 = x[kTokens > 3 ? 3 * n_blocks + b : b];
      svint32_t sum0 = svdup_n_s32(-Format::kOffset * x0.sum), sum1 = sum0, sum2 = sum0,
                sum3 = sum0;
      if (kTokens > 1) sum1 = svdup_n_s32(-Format::kOffset * x1.sum);
      if (kTokens > 2) sum2 = svdup_n_s32(-Format::kOffset * x2.sum);
      if (kTokens > 3) sum3 = svdup_n_s32(-Format::kOffset * x3.sum);
#pragma GCC unroll 8
      for (size_t quad = 0; quad < kBlock / 4; ++quad) {
        const svint8_t codes = Format::codes(rows, block, quad, first);
        sum0 = svdot_s32(sum0, codes, four_of(x0, quad));
        if (kTokens > 1) sum1 = svdot_s32(sum1, codes, four_of(x1, quad));
        if (kTokens > 2) sum2 = svdot_s32(sum2, codes, four_of(x2, quad));
        if (kTokens > 3) sum3 = svdot_s32(sum3, codes, four_of(x3, quad));
      }
      const auto* scales = reinterpret_cast<const uint16_t*>(block) + first;
      const svfloat16_t halves = svreinterpret_f16_u32(svld1uh_u32(rows, scales));
      const svfloat32_t scale = svcvt_f32_f16_x(rows, halves);
      acc0 = add_block(rows, acc0, sum0, scale, x0.d);
      if (kTokens > 1) acc1 = add_block(rows, acc1, sum1, scale, x1.d);
      if (kTokens > 2) acc2 = add_block(rows, acc2, sum2, scale, x2.d);
      if (kTokens > 3) acc3 = add_block(rows, acc3, sum3, scale, x3.d);
    }
    svst1_f32(rows, y + first, acc0);
    if (kTokens > 1) svst1_f32(rows, y + ldy + first, acc1);
    if (kTokens > 2) svst1_f32(rows, y + 2 * ldy + first, acc2);
    if (kTokens > 3) svst1_f32(rows, y + 3 * ldy + first, acc3);
  }
}

template <class Format>
inline void sve_matmul(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
                       const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const uint8_t* tile = static_cast<const uint8_t*>(w) + i * n_blocks * Format::kBytes;
    for (size_t t = 0; t < n_tokens; t += kSveTokens) {
      const ActBlock* xt = x + t * n_blocks;
      float* yt = y + t * ldy + i * kTileRows;
      switch (n_tokens - t) {
        case 1:
          sve_tile<Format, 1>(tile, n_blocks, xt, yt, ldy);
          break;
        case 2:
          sve_tile<Format, 2>(tile, n_blocks, xt, yt, ldy);
          break;
        case 3:
          sve_tile<Format, 3>(tile, n_blocks, xt, yt, ldy);
          break;
        default:
          sve_tile<Format, 4>(tile, n_blocks, xt, yt, ldy);
      }
    }
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SVE_MATMUL_QUANT_H_

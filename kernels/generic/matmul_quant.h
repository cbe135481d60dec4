// Tiles of quantised weights x blocks of activations, for any block layout whose codes unpack into
// 4 bytes a lane. Lanes are rows: no sum crosses lanes, so the width of a vector cannot change a
// bit. One code serves one token and many: a group of tokens shares the unpacked weights of a
// block.
#ifndef KRAFLA_KERNELS_GENERIC_MATMUL_QUANT_H_
#define KRAFLA_KERNELS_GENERIC_MATMUL_QUANT_H_

#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGroups = kBlock / 4;  // groups of 4 consecutive k in a block

// Format: kBytes of a group of kBlocks blocks that share scales; Dot, the integer product of vec.h;
// codes(group, block in it, quad, part), as bytes of lanes; kOffset, what unpacking has added to
// each code; kAffine: a second row of scales takes the sums of activations.

// The scales of a part's rows in a block.
template <class Format>
struct BlockScales {
  BlockScales(const uint8_t* block, size_t part) {
    const uint8_t* at = block + 2 * kLanes * part;
    scale = load_f16(reinterpret_cast<const uint16_t*>(at));
    if constexpr (Format::kAffine) {
      zero = load_f16(reinterpret_cast<const uint16_t*>(at + kAffineScales / 2));
    }
  }
  // acc plus the block's product, of which `sum` is the exact integer; d: x.d in all lanes.
  F32 add_to(F32 acc, I32 sum, F32 d, const ActBlock& x) const {
    F32 term = to_float(sum) * (scale * d);
    if constexpr (Format::kAffine) {
      term = term + zero * splat(static_cast<float>(x.sum) * x.d);
    }
    return acc + term;
  }
  F32 scale;
  F32 zero;  // of affine formats
};

// A tile's rows of one block x kTokens. kTogether vectors of rows are summed at a time; where
// that is not all of a tile, the activations of a block are prepared first, once for all of them.
template <class Format, size_t kTokens>
inline void matmul_block(const uint8_t* block, size_t in_group, const ActBlock* x, size_t n_blocks,
                         F32 (&acc)[kTokens][kParts]) {
  using Dot = typename Format::Dot;
  constexpr size_t kTogether = kTokens == 1 ? kPartsAlone : kPartsTogether;
  constexpr bool kStaged = kTogether < kParts;
  Quad quads[kTokens][kGroups];
  F32 factors[kTokens];
  I32 offsets[kTokens];
  // Staged or, where that would only fill registers, made anew at each use.
  const auto scale_of = [&](size_t t) { return kStaged ? factors[t] : splat(x[t * n_blocks].d); };
  const auto offset_of = [&](size_t t) {
    return kStaged ? offsets[t] : splat_int(-Format::kOffset * x[t * n_blocks].sum);
  };
  if (kStaged) {
#pragma GCC unroll 16
    for (size_t t = 0; t < kTokens; ++t) {
      const ActBlock& xb = x[t * n_blocks];
      factors[t] = splat(xb.d);
      offsets[t] = splat_int(-Format::kOffset * xb.sum);
#pragma GCC unroll 8
      for (size_t g = 0; g < kGroups; ++g) quads[t][g] = load_quad(xb.q, g);
    }
  }
#pragma GCC unroll 1
  for (size_t first = 0; first < kParts; first += kTogether) {
    typename Dot::Sum sums[kTokens][kTogether];
#pragma GCC unroll 16
    for (size_t t = 0; t < kTokens; ++t) {
#pragma GCC unroll 4
      for (auto& sum : sums[t]) sum = Dot::start(offset_of(t));
    }
#pragma GCC unroll 8
    for (size_t g = 0; g < kGroups; ++g) {
      typename Dot::Codes codes[kTogether];
#pragma GCC unroll 4
      for (size_t p = 0; p < kTogether; ++p) {
        codes[p] = Dot::prepare(Format::codes(block, in_group, g, first + p));
      }
#pragma GCC unroll 16
      for (size_t t = 0; t < kTokens; ++t) {
        const Quad quad = kStaged ? quads[t][g] : load_quad(x[t * n_blocks].q, g);
#pragma GCC unroll 4
        for (size_t p = 0; p < kTogether; ++p) {
          sums[t][p] = Dot::add(sums[t][p], codes[p], quad);
        }
      }
    }
#pragma GCC unroll 4
    for (size_t p = 0; p < kTogether; ++p) {
      const BlockScales<Format> scales(block, first + p);
#pragma GCC unroll 16
      for (size_t t = 0; t < kTokens; ++t) {
        const I32 sum = Dot::total(sums[t][p], offset_of(t));
        acc[t][first + p] = scales.add_to(acc[t][first + p], sum, scale_of(t), x[t * n_blocks]);
      }
    }
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

// block_product: matmul_block, or what the instruction set has instead.
#include "block_product.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// A function of its own, so that its loop can be found and judged (tests/bench/cycles.py).
template <class Format, size_t kTokens>
[[gnu::noinline]] void matmul_tile(const uint8_t* tile, size_t n_blocks, const ActBlock* x,
                                   float* y, size_t ldy) {
  F32 acc[kTokens][kParts];
  for (auto& row : acc) {
    for (F32& part : row) part = splat(0.0f);
  }
  for (size_t b = 0; b < n_blocks; ++b) {
    const size_t in_group = b % Format::kBlocks;
    const uint8_t* group = tile + b / Format::kBlocks * Format::kBytes;
    if (kTokens < kGemmTokens) {  // few tokens: what they need is mostly the weights' next lines
      constexpr size_t kBytes = Format::kBytes / Format::kBlocks;
      const uint8_t* ahead = group + in_group * kBytes + kPrefetchBytes;
      for (size_t i = 0; i < kBytes; i += 64) prefetch(ahead + i);
    }
    block_product<Format, kTokens>(group, in_group, x + b, n_blocks, acc);
  }
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t p = 0; p < kParts; ++p) store(y + t * ldy + p * kLanes, acc[t][p]);
  }
}

// The last tokens, fewer than a whole group.
template <class Format, size_t kTokens>
inline void matmul_rest(const uint8_t* tile, size_t n_blocks, const ActBlock* x, size_t n_tokens,
                        float* y, size_t ldy) {
  if constexpr (kTokens > 0) {
    if (n_tokens == kTokens) {
      matmul_tile<Format, kTokens>(tile, n_blocks, x, y, ldy);
    } else {
      matmul_rest<Format, kTokens - 1>(tile, n_blocks, x, n_tokens, y, ldy);
    }
  }
}

template <class Format>
inline void matmul_quant(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
                         const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  const size_t n_groups = (n_blocks + Format::kBlocks - 1) / Format::kBlocks;
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const uint8_t* tile = static_cast<const uint8_t*>(w) + i * n_groups * Format::kBytes;
    float* out = y + i * kTileRows;
    size_t t = 0;
    for (; t + kGemmTokens <= n_tokens; t += kGemmTokens) {
      matmul_tile<Format, kGemmTokens>(tile, n_blocks, x + t * n_blocks, out + t * ldy, ldy);
    }
    matmul_rest<Format, kGemmTokens - 1>(tile, n_blocks, x + t * n_blocks, n_tokens - t,
                                         out + t * ldy, ldy);
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_MATMUL_QUANT_H_

// A block's product with smmla: 2 rows x 8 k times 8 k x 2 tokens an instruction, four times the
// products of a dot product. Two quads of a part, zipped, are 8 consecutive k of two rows each. One
// token alone takes the dot products.
#ifndef KRAFLA_KERNELS_NEON_I8MM_BLOCK_PRODUCT_H_
#define KRAFLA_KERNELS_NEON_I8MM_BLOCK_PRODUCT_H_

namespace krafla::KRAFLA_KERNELS {
namespace {

template <class Format, size_t kTokens>
inline void pairs_product(const uint8_t* block, size_t in_group, const ActBlock* x, size_t n_blocks,
                          F32 (&acc)[kTokens][kParts]) {
  constexpr size_t kPairs = (kTokens + 1) / 2;
  const auto bytes_of = [](I32 v) { return vreinterpretq_s8_s32(v.v); };
  // Of an odd number of tokens the last one is its own partner; the partner's sums are not used.
  const auto token = [=](size_t pair, size_t i) -> const ActBlock& {
    const size_t t = 2 * pair + i;
    return x[(t < kTokens ? t : kTokens - 1) * n_blocks];
  };
#pragma GCC unroll 1
  for (size_t part = 0; part < kParts; ++part) {
    int32x4_t sums[kPairs][2];  // rows 0 and 1, rows 2 and 3: [row][token]
#pragma GCC unroll 8
    for (auto& pair : sums) pair[0] = pair[1] = vdupq_n_s32(0);
#pragma GCC unroll 4
    for (size_t quad = 0; quad < kGroups; quad += 2) {
      const int32x4_t first = Format::codes(block, in_group, quad, part).v;
      const int32x4_t second = Format::codes(block, in_group, quad + 1, part).v;
      const int8x16_t upper = bytes_of({vzip1q_s32(first, second)});
      const int8x16_t lower = bytes_of({vzip2q_s32(first, second)});
#pragma GCC unroll 8
      for (size_t pair = 0; pair < kPairs; ++pair) {
        const int8x16_t both =
            vcombine_s8(vld1_s8(token(pair, 0).q + 4 * quad), vld1_s8(token(pair, 1).q + 4 * quad));
        sums[pair][0] = vmmlaq_s32(sums[pair][0], upper, both);
        sums[pair][1] = vmmlaq_s32(sums[pair][1], lower, both);
      }
    }
    const BlockScales<Format> scales(block, part);
#pragma GCC unroll 16
    for (size_t t = 0; t < kTokens; ++t) {
      const auto& [upper, lower] = sums[t / 2];
      I32 sum = {t % 2 == 0 ? vuzp1q_s32(upper, lower) : vuzp2q_s32(upper, lower)};
      const ActBlock& xb = x[t * n_blocks];
      if constexpr (Format::kOffset != 0) sum = sum - splat_int(Format::kOffset * xb.sum);
      acc[t][part] = scales.add_to(acc[t][part], sum, splat(xb.d), xb);
    }
  }
}

template <class Format, size_t kTokens>
inline void block_product(const uint8_t* block, size_t in_group, const ActBlock* x, size_t n_blocks,
                          F32 (&acc)[kTokens][kParts]) {
  if constexpr (kTokens == 1) {
    matmul_block<Format, kTokens>(block, in_group, x, n_blocks, acc);
  } else {
    pairs_product<Format, kTokens>(block, in_group, x, n_blocks, acc);
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_I8MM_BLOCK_PRODUCT_H_

// Affine weights x activations: the products of q4 and q8 with a second scale that takes the sums
// of activations. Codes of 6 bits are put together from their two planes and multiplied as bytes.
#include "kernels/generic/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline I32 nibbles(const uint8_t* block, size_t quad, size_t part) {
  const I32 pairs = load_int(block + quad / 2 * 64 + part * kLanes * 4);
  const I32 low = splat_int(0x0f0f0f0f);
  return quad % 2 == 0 ? pairs & low : shift_right<4>(pairs) & low;
}

// Bits 4 and 5 of the codes, in their place.
inline I32 high_bits(const uint8_t* block, size_t quad, size_t part) {
  const I32 four = load_int(block + 256 + quad / 4 * 64 + part * kLanes * 4);
  const I32 mask = splat_int(0x30303030);
  if (quad % 4 == 0) return shift_left<4>(four) & mask;
  if (quad % 4 == 1) return shift_left<2>(four) & mask;
  return quad % 4 == 2 ? four & mask : shift_right<2>(four) & mask;
}

template <size_t kGroupBlocks>
struct Q4A {
  using Dot = DotU4;
  static constexpr size_t kBlocks = kGroupBlocks;
  static constexpr bool kAffine = true;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ4A;
  static constexpr int32_t kOffset = 0;
  static I32 codes(const uint8_t* group, size_t block, size_t quad, size_t part) {
    return nibbles(group + kAffineScales + block * kCodesQ4A, quad, part);
  }
};

template <size_t kGroupBlocks>
struct Q6A {
  using Dot = DotI8;
  static constexpr size_t kBlocks = kGroupBlocks;
  static constexpr bool kAffine = true;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ6A;
  static constexpr int32_t kOffset = Dot::kOffset;
  static I32 codes(const uint8_t* group, size_t block, size_t quad, size_t part) {
    const uint8_t* at = group + kAffineScales + block * kCodesQ6A;
    return nibbles(at, quad, part) | high_bits(at, quad, part);
  }
};

template <size_t kGroupBlocks>
struct Q8A {
  using Dot = DotI8;
  static constexpr size_t kBlocks = kGroupBlocks;
  static constexpr bool kAffine = true;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ8A;
  static constexpr int32_t kOffset = Dot::kOffset;
  static I32 codes(const uint8_t* group, size_t block, size_t quad, size_t part) {
    return load_int(group + kAffineScales + block * kCodesQ8A + quad * 64 + part * kLanes * 4);
  }
};

}  // namespace

KRAFLA_MATMUL_AFFINE(q4a) {
  matmul_quant<Q4A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q4a64) {
  matmul_quant<Q4A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q6a) {
  matmul_quant<Q6A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q6a64) {
  matmul_quant<Q6A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q8a) {
  matmul_quant<Q8A<1>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}
KRAFLA_MATMUL_AFFINE(q8a64) {
  matmul_quant<Q8A<2>>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

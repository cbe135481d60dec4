// Integer products of ARM sets without dot products: bytes are multiplied into 16-bit products.
#ifndef KRAFLA_KERNELS_ARM_PRODUCTS_H_
#define KRAFLA_KERNELS_ARM_PRODUCTS_H_

#include "kernels/arm/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// Four activations in every lane.
using Quad = I32;
inline Quad load_quad(const int8_t* block, size_t quad) {
  int32_t four;
  memcpy(&four, block + 4 * quad, sizeof four);
  return splat_int(four);
}

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+w"(x.v));
  return x;
}

// Sums of neighbours: of a's pairs, then of b's.
inline I32 pairwise(int32x4_t a, int32x4_t b) {
  return {vcombine_s32(vpadd_s32(vget_low_s32(a), vget_high_s32(a)),
                       vpadd_s32(vget_low_s32(b), vget_high_s32(b)))};
}

inline int8x16_t as_bytes(I32 a) { return vreinterpretq_s8_s32(a.v); }

// Products of a byte are at most 15 * 127, and each 16-bit sum takes eight of them.
struct DotU4 {
  struct Sum {
    int16x8_t low, high;  // of rows 0 and 1, of rows 2 and 3
  };
  using Codes = I32;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return {vdupq_n_s16(0), vdupq_n_s16(0)}; }
  static Sum add(Sum sum, Codes w, Quad x) {
    const int8x8_t four = vget_low_s8(as_bytes(x));
    return {vmlal_s8(sum.low, vget_low_s8(as_bytes(w)), four),
            vmlal_s8(sum.high, vget_high_s8(as_bytes(w)), four)};
  }
  static I32 total(Sum sum, I32 offset) {
    return pairwise(vpaddlq_s16(sum.low), vpaddlq_s16(sum.high)) + offset;
  }
};

// A product is at most 128 * 127: pairs of them are added into 32 bits.
struct DotI8 {
  struct Sum {
    int32x4_t low, high;  // of rows 0 and 1, of rows 2 and 3
  };
  using Codes = I32;
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return {vdupq_n_s32(0), vdupq_n_s32(0)}; }
  static Sum add(Sum sum, Codes w, Quad x) {
    const int8x8_t four = vget_low_s8(as_bytes(x));
    return {vpadalq_s16(sum.low, vmull_s8(vget_low_s8(as_bytes(w)), four)),
            vpadalq_s16(sum.high, vmull_s8(vget_high_s8(as_bytes(w)), four))};
  }
  static I32 total(Sum sum, I32) { return pairwise(sum.low, sum.high); }
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_ARM_PRODUCTS_H_

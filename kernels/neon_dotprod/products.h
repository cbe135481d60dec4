// Dot products of four bytes a lane, for every set that has the instruction.
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_

#include "kernels/neon/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// A lane of 16 activations: the product takes it from there, so four quads cost one load.
struct Quad {
  int8x16_t four;
  size_t lane;
};
inline Quad load_quad(const int8_t* block, size_t quad) {
  return {vld1q_s8(block + quad / 4 * 16), quad % 4};
}

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+w"(x.four));
  return x;
}

struct DotI8 {
  using Sum = int32x4_t;
  using Codes = I32;
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32 offset) { return offset.v; }
  static Sum add(Sum sum, Codes w, Quad x) {
    const int8x16_t codes = vreinterpretq_s8_s32(w.v);
    switch (x.lane) {  // known to the compiler: the loops over quads are unrolled
      case 0:
        return vdotq_laneq_s32(sum, codes, x.four, 0);
      case 1:
        return vdotq_laneq_s32(sum, codes, x.four, 1);
      case 2:
        return vdotq_laneq_s32(sum, codes, x.four, 2);
      default:
        return vdotq_laneq_s32(sum, codes, x.four, 3);
    }
  }
  static I32 total(Sum sum, I32) { return {sum}; }
};

using DotU4 = DotI8;  // codes 0 .. 15 are signed bytes too

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_

// Dot products of four bytes a lane, for every set that has the instruction.
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_

#include "kernels/neon/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct DotI8 {
  using Sum = int32x4_t;
  using Codes = I32;
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32 offset) { return offset.v; }
  static Sum add(Sum sum, Codes w, Quad x) {
    return vdotq_s32(sum, vreinterpretq_s8_s32(w.v), vreinterpretq_s8_s32(x.v));
  }
  static I32 total(Sum sum, I32) { return {sum}; }
};

using DotU4 = DotI8;  // codes 0 .. 15 are signed bytes too

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_PRODUCTS_H_

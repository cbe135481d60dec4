// The vector vocabulary of generic/ on AArch64 with dot products of bytes (docs/kernels.md lists
// what each name means).
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

#include "kernels/neon/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 4;     // tokens of a quantised tile: 16 sums, 4 codes
constexpr size_t kPartsTogether = 4;  // a whole tile

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

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

// The vector vocabulary of generic/ on ARMv7 with NEON (docs/kernels.md lists what each name
// means). Its vectors flush denormals to zero: the one thing in which this set may differ from the
// others. Division and square root go through the scalar unit, half precision through integers.
#ifndef KRAFLA_KERNELS_ARMV7_VEC_H_
#define KRAFLA_KERNELS_ARMV7_VEC_H_

#include "kernels/arm/products.h"
#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 2;     // tokens of a quantised tile: 4 of 16 registers, and codes
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 1;
constexpr size_t kFloatTokens = 3;       // tokens of a float tile: 12 of 16 registers
constexpr size_t kAttendQueries = 6;     // queries that share keys and values: 12 chains
constexpr size_t kAttendWide = 2;        // vectors of each of them
constexpr size_t kPrefetchBytes = 1024;  // how far ahead of a stream of weights

inline F32 operator/(F32 a, F32 b) {
  float x[kLanes], y[kLanes];
  store(x, a);
  store(y, b);
  for (size_t i = 0; i < kLanes; ++i) x[i] = x[i] / y[i];
  return load(x);
}
inline F32 sqrt(F32 a) {
  float x[kLanes];
  store(x, a);
  for (float& v : x) v = __builtin_sqrtf(v);
  return load(x);
}
// |a| < 2^22: the sum has no fraction bits left.
inline I32 round_to_int(F32 a) {
  const F32 magic = splat(12582912.0f);
  return as_int(a + magic) - as_int(magic);
}
inline int32_t fold_sum(I32 a) {
  const int32x2_t s = vadd_s32(vget_low_s32(a.v), vget_high_s32(a.v));
  return vget_lane_s32(vpadd_s32(s, s), 0);
}

// The low 16 bits of each lane are an f16: integers move its exponent and mantissa; a denormal's
// mantissa is converted and scaled, since as a float's it would be flushed.
inline F32 widen_f16(I32 h) {
  const I32 rest = h & splat_int(0x7fff), sign = shift_left<16>(h ^ rest);
  const I32 normal = shift_left<13>(rest) + splat_int(112 << 23);
  const F32 denormal = to_float(rest) * splat(5.9604644775390625e-8f);  // 2^-24
  const I32 highest = shift_left<13>(rest) | splat_int(0x7f800000);
  const uint32x4_t nan = vcgtq_s32(rest.v, splat_int(0x7c00).v);
  const I32 quiet = I32{vreinterpretq_s32_u32(nan)} & splat_int(0x400000);
  const Mask small = {vcltq_s32(rest.v, splat_int(0x0400).v)};
  const Mask large = {vcgtq_s32(rest.v, splat_int(0x7bff).v)};
  F32 value = select(small, denormal, as_float(normal));
  value = select(large, as_float(highest | quiet), value);
  return as_float(as_int(value) | sign);
}
inline F32 load_f16(const uint16_t* p) {
  return widen_f16({vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)))});
}
inline void store_f16(uint16_t* p, F32 a) {
  float lanes[kLanes];
  store(lanes, a);
  for (size_t i = 0; i < kLanes; ++i) p[i] = narrow_f16(lanes[i]);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#include "kernels/generic/float_tails.h"
#include "kernels/generic/half_tails.h"

#endif  // KRAFLA_KERNELS_ARMV7_VEC_H_

// 4 floats or 32-bit integers on Advanced SIMD: what both widths of ARM have alike of the part of
// vec.h (docs/kernels.md) that every ARM set shares. No fused multiply-add: products are rounded
// before they are added.
#ifndef KRAFLA_KERNELS_ARM_LANES_H_
#define KRAFLA_KERNELS_ARM_LANES_H_

#include <arm_neon.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kLanes = 4;

struct F32 {
  float32x4_t v;
};
struct I32 {
  int32x4_t v;
};
struct Mask {
  uint32x4_t v;
};

inline F32 splat(float x) { return {vdupq_n_f32(x)}; }
inline I32 splat_int(int32_t x) { return {vdupq_n_s32(x)}; }

inline F32 operator+(F32 a, F32 b) { return {vaddq_f32(a.v, b.v)}; }
inline F32 operator-(F32 a, F32 b) { return {vsubq_f32(a.v, b.v)}; }
inline F32 operator*(F32 a, F32 b) { return {vmulq_f32(a.v, b.v)}; }
inline I32 operator+(I32 a, I32 b) { return {vaddq_s32(a.v, b.v)}; }
inline I32 operator-(I32 a, I32 b) { return {vsubq_s32(a.v, b.v)}; }
inline I32 operator&(I32 a, I32 b) { return {vandq_s32(a.v, b.v)}; }
inline I32 operator|(I32 a, I32 b) { return {vorrq_s32(a.v, b.v)}; }
inline I32 operator^(I32 a, I32 b) { return {veorq_s32(a.v, b.v)}; }
template <int kBits>
inline I32 shift_left(I32 a) {
  return {vshlq_n_s32(a.v, kBits)};
}
template <int kBits>
inline I32 shift_right(I32 a) {
  return {vshrq_n_s32(a.v, kBits)};
}

inline I32 as_int(F32 a) { return {vreinterpretq_s32_f32(a.v)}; }
inline F32 as_float(I32 a) { return {vreinterpretq_f32_s32(a.v)}; }
inline F32 to_float(I32 a) { return {vcvtq_f32_s32(a.v)}; }

inline Mask less(F32 a, F32 b) { return {vcltq_f32(a.v, b.v)}; }
inline Mask equal(I32 a, I32 b) { return {vceqq_s32(a.v, b.v)}; }
inline F32 select(Mask m, F32 a, F32 b) { return {vbslq_f32(m.v, a.v, b.v)}; }
// FMAX would choose NaN and order zeros: not the contract's maximum.
inline F32 max(F32 a, F32 b) { return select(less(b, a), a, b); }
inline F32 min(F32 a, F32 b) { return select(less(a, b), a, b); }

inline F32 load(const float* p) { return {vld1q_f32(p)}; }
inline I32 load_int(const void* p) {
  return {vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)))};
}
inline F32 load_bf16(const uint16_t* p) {
  return {vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16))};
}
inline I32 load_int8(const int8_t* p) {
  int8x8_t bytes = {};
  memcpy(&bytes, p, kLanes);
  return {vmovl_s16(vget_low_s16(vmovl_s8(bytes)))};
}
inline void store(float* p, F32 a) { vst1q_f32(p, a.v); }
// The low 16 bits of each lane.
inline void store_low16(uint16_t* p, I32 a) { vst1_u16(p, vreinterpret_u16_s16(vmovn_s32(a.v))); }
// Lanes in [-128, 127].
inline void store_int8(int8_t* p, I32 a) {
  const int16x4_t words = vmovn_s32(a.v);
  const int8x8_t bytes = vmovn_s16(vcombine_s16(words, words));
  memcpy(p, &bytes, kLanes);
}

// Lane l takes in lane l + half for half = 2, 1: the upper lane is max's first operand.
inline float fold_sum(F32 a) {
  const float32x2_t s = vadd_f32(vget_low_f32(a.v), vget_high_f32(a.v));
  return vget_lane_f32(s, 0) + vget_lane_f32(s, 1);
}
inline float fold_max(F32 a) {
  const float32x2_t low = vget_low_f32(a.v), high = vget_high_f32(a.v);
  const float32x2_t s = vbsl_f32(vclt_f32(low, high), high, low);
  const float first = vget_lane_f32(s, 0), second = vget_lane_f32(s, 1);
  return second > first ? second : first;
}

inline void prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_ARM_LANES_H_

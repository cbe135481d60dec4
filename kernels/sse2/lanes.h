// 4 floats or 32-bit integers on SSE2: the part of vec.h (docs/kernels.md) that SSE4.1 shares. No
// half precision in hardware: widening is done with integers a vector at a time, narrowing (once
// for each new key and value) an element at a time.
#ifndef KRAFLA_KERNELS_SSE2_LANES_H_
#define KRAFLA_KERNELS_SSE2_LANES_H_

#include <emmintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"
#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kLanes = 4;
constexpr size_t kFloatTokens = 3;       // tokens of a float tile: 12 chains
constexpr size_t kAttendQueries = 6;     // queries that share keys and values: 12 chains
constexpr size_t kAttendWide = 2;        // vectors of each of them
constexpr size_t kPrefetchBytes = 4096;  // how far ahead of a stream of weights

struct F32 {
  __m128 v;
};
struct I32 {
  __m128i v;
};
struct Mask {
  __m128 v;
};

inline F32 splat(float x) { return {_mm_set1_ps(x)}; }
inline I32 splat_int(int32_t x) { return {_mm_set1_epi32(x)}; }

inline F32 operator+(F32 a, F32 b) { return {_mm_add_ps(a.v, b.v)}; }
inline F32 operator-(F32 a, F32 b) { return {_mm_sub_ps(a.v, b.v)}; }
inline F32 operator*(F32 a, F32 b) { return {_mm_mul_ps(a.v, b.v)}; }
inline F32 operator/(F32 a, F32 b) { return {_mm_div_ps(a.v, b.v)}; }
inline I32 operator+(I32 a, I32 b) { return {_mm_add_epi32(a.v, b.v)}; }
inline I32 operator-(I32 a, I32 b) { return {_mm_sub_epi32(a.v, b.v)}; }
inline I32 operator&(I32 a, I32 b) { return {_mm_and_si128(a.v, b.v)}; }
inline I32 operator|(I32 a, I32 b) { return {_mm_or_si128(a.v, b.v)}; }
inline I32 operator^(I32 a, I32 b) { return {_mm_xor_si128(a.v, b.v)}; }
template <int kBits>
inline I32 shift_left(I32 a) {
  return {_mm_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I32 shift_right(I32 a) {
  return {_mm_srai_epi32(a.v, kBits)};
}

inline I32 as_int(F32 a) { return {_mm_castps_si128(a.v)}; }
inline F32 as_float(I32 a) { return {_mm_castsi128_ps(a.v)}; }
inline F32 to_float(I32 a) { return {_mm_cvtepi32_ps(a.v)}; }
inline I32 round_to_int(F32 a) { return {_mm_cvtps_epi32(a.v)}; }

inline F32 max(F32 a, F32 b) { return {_mm_max_ps(a.v, b.v)}; }
inline F32 min(F32 a, F32 b) { return {_mm_min_ps(a.v, b.v)}; }
inline Mask less(F32 a, F32 b) { return {_mm_cmplt_ps(a.v, b.v)}; }
inline Mask equal(I32 a, I32 b) { return {_mm_castsi128_ps(_mm_cmpeq_epi32(a.v, b.v))}; }
inline F32 select(Mask m, F32 a, F32 b) {
  return {_mm_or_ps(_mm_and_ps(m.v, a.v), _mm_andnot_ps(m.v, b.v))};
}
inline F32 sqrt(F32 a) { return {_mm_sqrt_ps(a.v)}; }

inline F32 load(const float* p) { return {_mm_loadu_ps(p)}; }
inline I32 load_int(const void* p) { return {_mm_loadu_si128(static_cast<const __m128i*>(p))}; }
inline I32 load_int8(const int8_t* p) {
  int32_t four;
  memcpy(&four, p, sizeof four);
  const __m128i bytes = _mm_cvtsi32_si128(four);
  const __m128i words = _mm_unpacklo_epi8(bytes, bytes);
  return {_mm_srai_epi32(_mm_unpacklo_epi16(words, words), 24)};
}
inline void store(float* p, F32 a) { _mm_storeu_ps(p, a.v); }

// The low 16 bits of each lane are an f16. Its exponent and mantissa moved to a float's place are
// the value times 2^-112, denormals included; a product with 2^112 is exact.
inline F32 widen_f16(I32 h) {
  const I32 rest = h & splat_int(0x7fff), sign = shift_left<16>(h ^ rest);
  const F32 value = as_float(shift_left<13>(rest)) * as_float(splat_int((112 + 127) << 23));
  const __m128i large = _mm_cmpgt_epi32(rest.v, splat_int(0x7bff).v);
  if (_mm_movemask_epi8(large) == 0) return as_float(as_int(value) | sign);
  // Infinity and NaN: the highest exponent, and a NaN made quiet.
  const I32 nan = I32{_mm_cmpgt_epi32(rest.v, splat_int(0x7c00).v)} & splat_int(0x400000);
  const F32 highest = as_float((shift_left<13>(rest) + splat_int(224 << 23)) | nan);
  return as_float(as_int(select({_mm_castsi128_ps(large)}, highest, value)) | sign);
}
inline I32 load_low16(const uint16_t* p) {
  const __m128i h = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return {_mm_unpacklo_epi16(h, _mm_setzero_si128())};
}
inline F32 load_f16(const uint16_t* p) { return widen_f16(load_low16(p)); }
inline F32 load_bf16(const uint16_t* p) { return as_float(shift_left<16>(load_low16(p))); }

inline void store_f16(uint16_t* p, F32 a) {
  float lanes[kLanes];
  store(lanes, a);
  for (size_t i = 0; i < kLanes; ++i) p[i] = narrow_f16(lanes[i]);
}
// The low 16 bits of each lane.
inline void store_low16(uint16_t* p, I32 a) {
  const I32 extended = shift_right<16>(shift_left<16>(a));  // what the signed pack keeps
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi32(extended.v, extended.v));
}
// Lanes in [-128, 127].
inline void store_int8(int8_t* p, I32 a) {
  const __m128i words = _mm_packs_epi32(a.v, a.v);
  const int32_t four = _mm_cvtsi128_si32(_mm_packs_epi16(words, words));
  memcpy(p, &four, sizeof four);
}

// Lane l takes in lane l + half for half = 2, 1: the upper lane is max's first operand.
inline float fold_sum(F32 a) {
  const __m128 s = _mm_add_ps(a.v, _mm_movehl_ps(a.v, a.v));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 0x55)));
}
inline float fold_max(F32 a) {
  const __m128 s = _mm_max_ps(_mm_movehl_ps(a.v, a.v), a.v);
  return _mm_cvtss_f32(_mm_max_ss(_mm_shuffle_ps(s, s, 0x55), s));
}
inline int32_t fold_sum(I32 a) {
  const __m128i s = _mm_add_epi32(a.v, _mm_shuffle_epi32(a.v, 0x0e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0x01)));
}

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#include "kernels/generic/float_tails.h"
#include "kernels/generic/half_tails.h"

#endif  // KRAFLA_KERNELS_SSE2_LANES_H_

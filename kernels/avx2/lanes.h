// 8 floats or 32-bit integers on AVX2 with F16C: the part of vec.h (docs/kernels.md) that every set
// built on AVX2 shares. No FMA: products are rounded before they are added.
#ifndef KRAFLA_KERNELS_AVX2_LANES_H_
#define KRAFLA_KERNELS_AVX2_LANES_H_

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kFloatTokens = 6;    // tokens of a float tile: 12 chains hide the adder's latency
constexpr size_t kAttendQueries = 6;  // queries that share keys and values: 12 chains
constexpr size_t kAttendWide = 2;     // vectors of each of them
constexpr size_t kPrefetchBytes = 8192;  // how far ahead of a stream of weights

struct F32 {
  __m256 v;
};
struct I32 {
  __m256i v;
};
struct Mask {
  __m256 v;
};

inline F32 splat(float x) { return {_mm256_set1_ps(x)}; }
inline I32 splat_int(int32_t x) { return {_mm256_set1_epi32(x)}; }

inline F32 operator+(F32 a, F32 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline F32 operator-(F32 a, F32 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline F32 operator*(F32 a, F32 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline F32 operator/(F32 a, F32 b) { return {_mm256_div_ps(a.v, b.v)}; }
inline I32 operator+(I32 a, I32 b) { return {_mm256_add_epi32(a.v, b.v)}; }
inline I32 operator-(I32 a, I32 b) { return {_mm256_sub_epi32(a.v, b.v)}; }
inline I32 operator&(I32 a, I32 b) { return {_mm256_and_si256(a.v, b.v)}; }
inline I32 operator|(I32 a, I32 b) { return {_mm256_or_si256(a.v, b.v)}; }
inline I32 operator^(I32 a, I32 b) { return {_mm256_xor_si256(a.v, b.v)}; }
template <int kBits>
inline I32 shift_left(I32 a) {
  return {_mm256_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I32 shift_right(I32 a) {
  return {_mm256_srai_epi32(a.v, kBits)};
}

inline I32 as_int(F32 a) { return {_mm256_castps_si256(a.v)}; }
inline F32 as_float(I32 a) { return {_mm256_castsi256_ps(a.v)}; }
inline F32 to_float(I32 a) { return {_mm256_cvtepi32_ps(a.v)}; }
inline I32 round_to_int(F32 a) { return {_mm256_cvtps_epi32(a.v)}; }

inline F32 max(F32 a, F32 b) { return {_mm256_max_ps(a.v, b.v)}; }
inline F32 min(F32 a, F32 b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Mask less(F32 a, F32 b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask equal(I32 a, I32 b) { return {_mm256_castsi256_ps(_mm256_cmpeq_epi32(a.v, b.v))}; }
inline F32 select(Mask m, F32 a, F32 b) { return {_mm256_blendv_ps(b.v, a.v, m.v)}; }

inline F32 load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline I32 load_int(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
inline F32 load_f16(const uint16_t* p) {
  return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline F32 load_bf16(const uint16_t* p) {
  const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(h), 16))};
}
inline I32 load_int8(const int8_t* p) {
  return {_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
}
inline void store(float* p, F32 a) { _mm256_storeu_ps(p, a.v); }
inline void store_f16(uint16_t* p, F32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}
// The low 16 bits of each lane.
inline void store_low16(uint16_t* p, I32 a) {
  const __m256i low = _mm256_and_si256(a.v, _mm256_set1_epi32(0xffff));
  const __m256i packed = _mm256_packus_epi32(low, low);
  const __m256i ordered = _mm256_permute4x64_epi64(packed, 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(ordered));
}
// Lanes in [-128, 127].
inline void store_int8(int8_t* p, I32 a) {
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packs_epi16(words, words));
}

// The first n lanes, n <= kLanes: the others load as zero and are not stored; no byte of theirs is
// touched.
inline __m256i first_lanes(size_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(n)), lane);
}
inline F32 load(const float* p, size_t n) { return {_mm256_maskload_ps(p, first_lanes(n))}; }
inline void store(float* p, F32 a, size_t n) { _mm256_maskstore_ps(p, first_lanes(n), a.v); }

inline F32 sqrt(F32 a) { return {_mm256_sqrt_ps(a.v)}; }

// Lane l takes in lane l + half for half = 4, 2, 1: the upper lane is max's first operand.
inline float fold_sum(F32 a) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(a.v), _mm256_extractf128_ps(a.v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float fold_max(F32 a) {
  __m128 s = _mm_max_ps(_mm256_extractf128_ps(a.v, 1), _mm256_castps256_ps128(a.v));
  s = _mm_max_ps(_mm_movehl_ps(s, s), s);
  return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(s), s));
}
inline int32_t fold_sum(I32 a) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(a.v), _mm256_extracti128_si256(a.v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x0e));
  return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0x01)));
}

// Four activations in every lane.
using Quad = I32;
inline Quad load_quad(const int8_t* block, size_t quad) {
  int32_t four;
  memcpy(&four, block + 4 * quad, sizeof four);
  return splat_int(four);
}

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+x"(x.v));
  return x;
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#include "kernels/generic/half_tails.h"

#endif  // KRAFLA_KERNELS_AVX2_LANES_H_

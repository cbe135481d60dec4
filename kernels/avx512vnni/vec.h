// The vector vocabulary of generic/ on AVX-512 with VNNI: 16 floats or 32-bit integers, so that one
// vector is a tile's 16 rows. The same names exist in every instruction set's vec.h
// (docs/kernels.md lists what each means). No FMA: products are rounded before they are added.
#ifndef KRAFLA_KERNELS_AVX512VNNI_VEC_H_
#define KRAFLA_KERNELS_AVX512VNNI_VEC_H_

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kLanes = 16;
constexpr size_t kGemmTokens = 12;  // tokens of a quantised tile: 12 sums and 12 accumulators
constexpr size_t kPartsTogether = 1;
constexpr size_t kPartsAlone = 1;
constexpr size_t kFloatTokens = 12;      // tokens of a float tile
constexpr size_t kAttendQueries = 12;    // queries that share keys and values: 12 chains
constexpr size_t kAttendWide = 1;        // vectors of each of them
constexpr size_t kPrefetchBytes = 8192;  // how far ahead of a stream of weights

struct F32 {
  __m512 v;
};
struct I32 {
  __m512i v;
};
struct Mask {
  __mmask16 v;
};

inline F32 splat(float x) { return {_mm512_set1_ps(x)}; }
inline I32 splat_int(int32_t x) { return {_mm512_set1_epi32(x)}; }

inline F32 operator+(F32 a, F32 b) { return {_mm512_add_ps(a.v, b.v)}; }
inline F32 operator-(F32 a, F32 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline F32 operator*(F32 a, F32 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline F32 operator/(F32 a, F32 b) { return {_mm512_div_ps(a.v, b.v)}; }
inline I32 operator+(I32 a, I32 b) { return {_mm512_add_epi32(a.v, b.v)}; }
inline I32 operator-(I32 a, I32 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
inline I32 operator&(I32 a, I32 b) { return {_mm512_and_si512(a.v, b.v)}; }
inline I32 operator|(I32 a, I32 b) { return {_mm512_or_si512(a.v, b.v)}; }
inline I32 operator^(I32 a, I32 b) { return {_mm512_xor_si512(a.v, b.v)}; }
template <int kBits>
inline I32 shift_left(I32 a) {
  return {_mm512_slli_epi32(a.v, kBits)};
}
template <int kBits>
inline I32 shift_right(I32 a) {
  return {_mm512_srai_epi32(a.v, kBits)};
}

inline I32 as_int(F32 a) { return {_mm512_castps_si512(a.v)}; }
inline F32 as_float(I32 a) { return {_mm512_castsi512_ps(a.v)}; }
inline F32 to_float(I32 a) { return {_mm512_cvtepi32_ps(a.v)}; }
inline I32 round_to_int(F32 a) { return {_mm512_cvtps_epi32(a.v)}; }

inline F32 max(F32 a, F32 b) { return {_mm512_max_ps(a.v, b.v)}; }
inline F32 min(F32 a, F32 b) { return {_mm512_min_ps(a.v, b.v)}; }
inline Mask less(F32 a, F32 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ)}; }
inline Mask equal(I32 a, I32 b) { return {_mm512_cmpeq_epi32_mask(a.v, b.v)}; }
inline F32 select(Mask m, F32 a, F32 b) { return {_mm512_mask_blend_ps(m.v, b.v, a.v)}; }
inline F32 sqrt(F32 a) { return {_mm512_sqrt_ps(a.v)}; }

inline F32 load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline I32 load_int(const void* p) { return {_mm512_loadu_si512(p)}; }
inline F32 load_f16(const uint16_t* p) {
  return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}
inline F32 load_bf16(const uint16_t* p) {
  const __m256i h = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline I32 load_int8(const int8_t* p) {
  return {_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}
inline void store(float* p, F32 a) { _mm512_storeu_ps(p, a.v); }
inline __m256i narrow_f16(F32 a) { return _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT); }
inline void store_f16(uint16_t* p, F32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow_f16(a));
}
// The low 16 bits of each lane.
inline void store_low16(uint16_t* p, I32 a) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(a.v));
}
// Lanes in [-128, 127].
inline void store_int8(int8_t* p, I32 a) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a.v));
}

// The first n lanes, n <= kLanes: the others load as zero and are not stored; no byte of theirs is
// touched.
inline __mmask16 first_lanes(size_t n) { return static_cast<__mmask16>((1u << n) - 1); }
inline F32 load(const float* p, size_t n) { return {_mm512_maskz_loadu_ps(first_lanes(n), p)}; }
inline void store(float* p, F32 a, size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), a.v); }
inline F32 load_f16(const uint16_t* p, size_t n) {
  return {_mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p))};
}
inline F32 load_bf16(const uint16_t* p, size_t n) {
  const __m256i h = _mm256_maskz_loadu_epi16(first_lanes(n), p);
  return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(h), 16))};
}
inline void store_f16(uint16_t* p, F32 a, size_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), narrow_f16(a));
}
inline void store_low16(uint16_t* p, I32 a, size_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), _mm512_cvtepi32_epi16(a.v));
}

// Lane l takes in lane l + half for half = 8, 4, 2, 1: the upper lane is max's first operand.
inline float fold_sum(F32 a) {
  const __m256 high = _mm512_extractf32x8_ps(a.v, 1);
  const __m256 t = _mm256_add_ps(_mm512_castps512_ps256(a.v), high);
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
inline float fold_max(F32 a) {
  const __m256 high = _mm512_extractf32x8_ps(a.v, 1);
  const __m256 t = _mm256_max_ps(high, _mm512_castps512_ps256(a.v));
  __m128 s = _mm_max_ps(_mm256_extractf128_ps(t, 1), _mm256_castps256_ps128(t));
  s = _mm_max_ps(_mm_movehl_ps(s, s), s);
  return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(s), s));
}
inline int32_t fold_sum(I32 a) { return _mm512_reduce_add_epi32(a.v); }

using Quad = I32;
inline Quad load_quad(const int8_t* block, size_t quad) {
  int32_t four;
  memcpy(&four, block + 4 * quad, sizeof four);
  return splat_int(four);
}

struct DotU4 {
  using Sum = __m512i;
  using Codes = I32;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32 offset) { return offset.v; }
  static Sum add(Sum sum, Codes w, Quad x) { return _mm512_dpbusd_epi32(sum, w.v, x.v); }
  static I32 total(Sum sum, I32) { return {sum}; }
};

// The codes must be unsigned: a flipped sign bit adds 128 to each.
struct DotI8 : DotU4 {
  static constexpr int32_t kOffset = 128;
  static Codes prepare(I32 codes) {
    return {_mm512_xor_si512(codes.v, _mm512_set1_epi8(static_cast<char>(0x80)))};
  }
};

inline void prefetch(const void* p) { _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0); }

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+v"(x.v));
  return x;
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_AVX512VNNI_VEC_H_

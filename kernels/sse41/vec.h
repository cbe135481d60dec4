// The vector vocabulary of generic/ on SSE4.1, which implies SSSE3 and its products of bytes
// (docs/kernels.md lists what each name means).
#ifndef KRAFLA_KERNELS_SSE41_VEC_H_
#define KRAFLA_KERNELS_SSE41_VEC_H_

#include <smmintrin.h>

#include "kernels/sse2/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 8;     // tokens of a quantised tile
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 1;

using Quad = I32;
inline Quad load_quad(const int8_t* block, size_t quad) {
  int32_t four;
  memcpy(&four, block + 4 * quad, sizeof four);
  return splat_int(four);
}

// Eight pair sums fit 16 bits (8 * 2 * 15 * 127 = 30480).
struct DotU4 {
  using Sum = __m128i;
  using Codes = I32;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return _mm_setzero_si128(); }
  static Sum add(Sum sum, Codes w, Quad x) {
    return _mm_add_epi16(sum, _mm_maddubs_epi16(w.v, x.v));
  }
  static I32 total(Sum sum, I32 offset) {
    return I32{_mm_madd_epi16(sum, _mm_set1_epi16(1))} + offset;
  }
};

// |w| times x with w's sign. A pair sum is at most 2 * 128 * 127 = 32512.
struct DotI8 {
  using Sum = __m128i;
  using Codes = I32;
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return _mm_setzero_si128(); }
  static Sum add(Sum sum, Codes w, Quad x) {
    const __m128i pairs = _mm_maddubs_epi16(_mm_abs_epi8(w.v), _mm_sign_epi8(x.v, w.v));
    return _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
  }
  static I32 total(Sum sum, I32) { return {sum}; }
};

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+x"(x.v));
  return x;
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SSE41_VEC_H_

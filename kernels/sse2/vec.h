// The vector vocabulary of generic/ on SSE2 (docs/kernels.md lists what each name means). Products
// of bytes are products of 16-bit numbers here, so codes and activations are widened first.
#ifndef KRAFLA_KERNELS_SSE2_VEC_H_
#define KRAFLA_KERNELS_SSE2_VEC_H_

#include "kernels/sse2/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 8;     // tokens of a quantised tile: 8 sums
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 1;

// Four 16-bit numbers k of each lane, as pairs whose products the multiplication adds: k = 0 and 2,
// k = 1 and 3. That is a mask and a shift away from bytes, and needs no shuffle.
struct Pairs {
  __m128i even, odd;
};

using Quad = Pairs;
inline Quad load_quad(const int8_t* block, size_t quad) {
  int32_t four;
  memcpy(&four, block + 4 * quad, sizeof four);
  const __m128i bytes = _mm_cvtsi32_si128(four);
  const __m128i words = _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
  const __m128i pairs = _mm_shufflelo_epi16(words, 0xd8);
  return {_mm_shuffle_epi32(pairs, 0x00), _mm_shuffle_epi32(pairs, 0x55)};
}

struct DotU4 {
  using Sum = __m128i;
  using Codes = Pairs;
  static Codes prepare(I32 codes) {
    return {_mm_and_si128(codes.v, _mm_set1_epi16(0xff)), _mm_srli_epi16(codes.v, 8)};
  }
  static Sum start(I32) { return _mm_setzero_si128(); }
  static Sum add(Sum sum, Codes w, Quad x) {
    sum = _mm_add_epi32(sum, _mm_madd_epi16(w.even, x.even));
    return _mm_add_epi32(sum, _mm_madd_epi16(w.odd, x.odd));
  }
  static I32 total(Sum sum, I32 offset) { return I32{sum} + offset; }
};

struct DotI8 : DotU4 {
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) {
    return {_mm_srai_epi16(_mm_slli_epi16(codes.v, 8), 8), _mm_srai_epi16(codes.v, 8)};
  }
};

// A value that the compiler knows nothing about: for measurements.
inline Quad opaque(Quad x) {
  asm volatile("" : "+x"(x.even), "+x"(x.odd));
  return x;
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SSE2_VEC_H_

// The vector vocabulary of generic/ on AVX2 (docs/kernels.md lists what each name means).
#ifndef KRAFLA_KERNELS_AVX2_VEC_H_
#define KRAFLA_KERNELS_AVX2_VEC_H_

#include "kernels/avx2/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 4;  // tokens of a quantised tile: 8 sums, 2 weights, 1 token's bytes
constexpr size_t kPartsTogether = 2;
constexpr size_t kPartsAlone = 2;

// Eight pair sums fit 16 bits (8 * 2 * 15 * 127 = 30480).
struct DotU4 {
  using Sum = __m256i;
  using Codes = I32;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return _mm256_setzero_si256(); }
  static Sum add(Sum sum, Codes w, Quad x) {
    return _mm256_add_epi16(sum, _mm256_maddubs_epi16(w.v, x.v));
  }
  static I32 total(Sum sum, I32 offset) {
    return I32{_mm256_madd_epi16(sum, _mm256_set1_epi16(1))} + offset;
  }
};

// |w| times x with w's sign. A pair sum is at most 2 * 128 * 127 = 32512.
struct DotI8 {
  using Sum = __m256i;
  using Codes = I32;
  static constexpr int32_t kOffset = 0;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32) { return _mm256_setzero_si256(); }
  static Sum add(Sum sum, Codes w, Quad x) {
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w.v), _mm256_sign_epi8(x.v, w.v));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
  }
  static I32 total(Sum sum, I32) { return {sum}; }
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_AVX2_VEC_H_

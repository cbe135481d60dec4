// The vector vocabulary of generic/ on AVX-VNNI: AVX2 with an instruction that multiplies four
// bytes of a lane and adds them into its 32-bit sum.
#ifndef KRAFLA_KERNELS_AVXVNNI_VEC_H_
#define KRAFLA_KERNELS_AVXVNNI_VEC_H_

#include "kernels/avx2/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 4;  // tokens of a quantised tile: 8 sums, 2 weights, 1 token's bytes
constexpr size_t kPartsTogether = 2;
constexpr size_t kPartsAlone = 2;

struct DotU4 {
  using Sum = __m256i;
  using Codes = I32;
  static Codes prepare(I32 codes) { return codes; }
  static Sum start(I32 offset) { return offset.v; }
  static Sum add(Sum sum, Codes w, Quad x) { return _mm256_dpbusd_epi32(sum, w.v, x.v); }
  static I32 total(Sum sum, I32) { return {sum}; }
};

// The codes must be unsigned: a flipped sign bit adds 128 to each.
struct DotI8 : DotU4 {
  static constexpr int32_t kOffset = 128;
  static Codes prepare(I32 codes) {
    return {_mm256_xor_si256(codes.v, _mm256_set1_epi8(static_cast<char>(0x80)))};
  }
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_AVXVNNI_VEC_H_

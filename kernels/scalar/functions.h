// The float functions of the canonical arithmetic, one value at a time: what exp, tanh and the rest
// mean on every instruction set. Only add, sub, mul, div, compare-and-select, integer operations
// and one rounding are used, each of which every processor can do alike (docs/kernels.md).
#ifndef KRAFLA_KERNELS_SCALAR_FUNCTIONS_H_
#define KRAFLA_KERNELS_SCALAR_FUNCTIONS_H_

#include <stddef.h>
#include <stdint.h>

#include "kernels/coefficients.h"
#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
inline float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

// The order of the operands decides what NaN and equal zeros give.
inline float max_of(float a, float b) { return a > b ? a : b; }
inline float min_of(float a, float b) { return a < b ? a : b; }
inline float abs_of(float x) { return float_of(bits_of(x) & 0x7fffffffu); }

// To the nearest integer, ties to even, |x| < 2^22: the sum has no fraction bits left.
inline int32_t round_even(float x) {
  return static_cast<int32_t>(bits_of(x + 12582912.0f) - bits_of(12582912.0f));
}

// 2^n for a normal result.
inline float power_of_two(int32_t n) { return float_of(static_cast<uint32_t>(n + 127) << 23); }

template <size_t N>
inline float polynomial(const float (&c)[N], float x) {
  float y = c[N - 1];
  for (size_t i = N - 1; i-- > 0;) y = y * x + c[i];
  return y;
}

// min_of and max_of have the constant first: a NaN passes through.
inline float exp_of(float x) {
  const float t = min_of(kExpHighest, max_of(kExpLowest, x));
  const int32_t n = t == t ? round_even(t * kLog2E) : 0;
  const float k = static_cast<float>(n);
  const float r = (t - k * kLn2Hi) - k * kLn2Lo;
  const float p = 1.0f + (r + (r * r) * polynomial(kExp, r));
  const int32_t half = n >> 1;  // 2^128 has no float: two factors
  const float y = (p * power_of_two(half)) * power_of_two(n - half);
  return x < kExpLowest ? 0.0f : y;
}

inline float sigmoid_of(float x) { return 1.0f / (1.0f + exp_of(-x)); }

inline float with_sign_of(float magnitude, float x) {
  return float_of(bits_of(magnitude) | (bits_of(x) & 0x80000000u));
}

inline float tanh_of(float x) {
  const float z = x * x;
  const float small = x + (x * z) * polynomial(kTanh, z);
  const float a = min_of(kTanhHighest, abs_of(x));
  const float large = 1.0f - 2.0f / (exp_of(a + a) + 1.0f);
  return a < kTanhSplit ? small : with_sign_of(large, x);
}

inline float erf_of(float x) {
  const float small = x + x * polynomial(kErf, x * x);
  const float a = min_of(kErfHighest, abs_of(x));
  const float large = 1.0f - exp_of(polynomial(kLogErfc, a));
  return a < kErfSplit ? small : with_sign_of(large, x);
}

// 1 + x = 2^k (1 + f), 0.75 <= 1 + f < 1.5; s = 2^(2 - k) stays normal for the largest k, 128.
inline float log1p_of(float x) {
  const int32_t shifted = static_cast<int32_t>(bits_of(x + 1.0f) - bits_of(0.75f));
  const int32_t k = shifted >> 23;
  const float s = float_of(bits_of(4.0f) - (static_cast<uint32_t>(k) << 23));
  const float reduced = (x * 0.25f) * s + (s * 0.25f - 1.0f);
  const float f = k == 0 ? x : reduced;
  const float z = f * f;
  const float p = f + (z * (f * polynomial(kLog1p, f)) - 0.5f * z);
  const float y = static_cast<float>(k) * kLn2 + p;
  return x > kLargest ? x : y;
}

inline float softplus_of(float x) {
  return max_of(x, 0.0f) + log1p_of(exp_of(float_of(bits_of(x) | 0x80000000u)));
}

inline float gelu_tanh_of(float x) {
  const float u = (kSqrt2OverPi * x) * (1.0f + (kGeluCubic * x) * x);
  return (0.5f * x) * (1.0f + tanh_of(u));
}

inline float gelu_erf_of(float x) { return (0.5f * x) * (1.0f + erf_of(x * kSqrtHalf)); }

// The one order of a row reduction: 16 partial sums, then a tree.
inline float fold_sum(float (&s)[16]) {
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) s[l] = s[l] + s[l + half];
  }
  return s[0];
}

inline float fold_max(float (&s)[16]) {
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) s[l] = max_of(s[l + half], s[l]);
  }
  return s[0];
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_FUNCTIONS_H_

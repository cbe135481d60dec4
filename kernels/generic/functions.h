// The float functions a vector at a time: the same sequences as scalar/functions.h, operation for
// operation.
#ifndef KRAFLA_KERNELS_GENERIC_FUNCTIONS_H_
#define KRAFLA_KERNELS_GENERIC_FUNCTIONS_H_

#include "kernels/coefficients.h"
#include "vec.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline F32 abs(F32 x) { return as_float(as_int(x) & splat_int(0x7fffffff)); }
inline F32 minus_abs(F32 x) { return as_float(as_int(x) | splat_int(INT32_MIN)); }
inline F32 negate(F32 x) { return as_float(as_int(x) ^ splat_int(INT32_MIN)); }
inline F32 with_sign_of(F32 magnitude, F32 x) {
  return as_float(as_int(magnitude) | (as_int(x) & splat_int(INT32_MIN)));
}
inline F32 power_of_two(I32 n) { return as_float(shift_left<23>(n + splat_int(127))); }

template <size_t N>
inline F32 polynomial(const float (&c)[N], F32 x) {
  F32 y = splat(c[N - 1]);
  for (size_t i = N - 1; i-- > 0;) y = y * x + splat(c[i]);
  return y;
}

inline F32 exp(F32 x) {
  const F32 t = min(splat(kExpHighest), max(splat(kExpLowest), x));
  const I32 n = round_to_int(t * splat(kLog2E));
  const F32 k = to_float(n);
  const F32 r = (t - k * splat(kLn2Hi)) - k * splat(kLn2Lo);
  const F32 p = splat(1.0f) + (r + (r * r) * polynomial(kExp, r));
  const I32 half = shift_right<1>(n);
  const F32 y = (p * power_of_two(half)) * power_of_two(n - half);
  return select(less(x, splat(kExpLowest)), splat(0.0f), y);
}

inline F32 sigmoid(F32 x) { return splat(1.0f) / (splat(1.0f) + exp(negate(x))); }

inline F32 tanh(F32 x) {
  const F32 z = x * x;
  const F32 small = x + (x * z) * polynomial(kTanh, z);
  const F32 a = min(splat(kTanhHighest), abs(x));
  const F32 large = splat(1.0f) - splat(2.0f) / (exp(a + a) + splat(1.0f));
  return select(less(a, splat(kTanhSplit)), small, with_sign_of(large, x));
}

inline F32 erf(F32 x) {
  const F32 small = x + x * polynomial(kErf, x * x);
  const F32 a = min(splat(kErfHighest), abs(x));
  const F32 large = splat(1.0f) - exp(polynomial(kLogErfc, a));
  return select(less(a, splat(kErfSplit)), small, with_sign_of(large, x));
}

inline F32 log1p(F32 x) {
  const I32 k = shift_right<23>(as_int(x + splat(1.0f)) - as_int(splat(0.75f)));
  const F32 s = as_float(as_int(splat(4.0f)) - shift_left<23>(k));
  const F32 reduced = (x * splat(0.25f)) * s + (s * splat(0.25f) - splat(1.0f));
  const F32 f = select(equal(k, splat_int(0)), x, reduced);
  const F32 z = f * f;
  const F32 p = f + (z * (f * polynomial(kLog1p, f)) - splat(0.5f) * z);
  const F32 y = to_float(k) * splat(kLn2) + p;
  return select(less(splat(kLargest), x), x, y);
}

inline F32 softplus(F32 x) { return max(x, splat(0.0f)) + log1p(exp(minus_abs(x))); }

inline F32 gelu_tanh(F32 x) {
  const F32 u = (splat(kSqrt2OverPi) * x) * (splat(1.0f) + (splat(kGeluCubic) * x) * x);
  return (splat(0.5f) * x) * (splat(1.0f) + tanh(u));
}

inline F32 gelu_erf(F32 x) { return (splat(0.5f) * x) * (splat(1.0f) + erf(x * splat(kSqrtHalf))); }

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_FUNCTIONS_H_

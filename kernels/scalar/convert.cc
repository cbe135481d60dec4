// Conversions of rows between f32, f16 and bf16: the meaning, in integers (convert.h), so that a
// build with conversion instructions has something to equal.
#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {

void f32_to_f16(const float* x, size_t n, uint16_t* y) {
  for (size_t i = 0; i < n; ++i) y[i] = narrow_f16(x[i]);
}

void f16_to_f32(const uint16_t* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = widen_f16(x[i]);
}

void f32_to_bf16(const float* x, size_t n, uint16_t* y) {
  for (size_t i = 0; i < n; ++i) y[i] = narrow_bf16(x[i]);
}

void bf16_to_f32(const uint16_t* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = widen_bf16(x[i]);
}

}  // namespace krafla::KRAFLA_KERNELS

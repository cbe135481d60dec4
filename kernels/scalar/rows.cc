// Rows of floats: norm, sums, products, gated activations, rotation. The meaning, with the 16
// partial sums of every reduction written out.
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
  float sums[16] = {};
  for (size_t i = 0; i < n; ++i) sums[i % 16] = sums[i % 16] + x[i] * x[i];
  const float mean = fold_sum(sums) / static_cast<float>(n);
  const float scale = 1.0f / __builtin_sqrtf(mean + eps);
  for (size_t i = 0; i < n; ++i) y[i] = (x[i] * scale) * w[i];
}

void add(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] + x[i];
}

void mul(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] * x[i];
}

float dot(const float* x, const float* y, size_t n) {
  float sums[16] = {};
  for (size_t i = 0; i < n; ++i) sums[i % 16] = sums[i % 16] + x[i] * y[i];
  return fold_sum(sums);
}

void scale(float s, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] * s;
}

void silu_mul(const float* gate, const float* up, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = (gate[i] * sigmoid_of(gate[i])) * up[i];
}

void gelu_tanh_mul(const float* gate, const float* up, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = gelu_tanh_of(gate[i]) * up[i];
}

void gelu_erf_mul(const float* gate, const float* up, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = gelu_erf_of(gate[i]) * up[i];
}

void swiglu_clamped(const float* gate, const float* up, float alpha, float limit, size_t n,
                    float* y) {
  for (size_t i = 0; i < n; ++i) {
    const float g = min_of(gate[i], limit);
    const float u = min_of(max_of(up[i], -limit), limit);
    y[i] = (g * sigmoid_of(g * alpha)) * (u + 1.0f);
  }
}

void rope(float* x, size_t n_heads, size_t ld, size_t n_rot, const float* cos, const float* sin) {
  const size_t half = n_rot / 2;
  for (size_t h = 0; h < n_heads; ++h) {
    float* head = x + h * ld;
    for (size_t j = 0; j < half; ++j) {
      const float a = head[j], b = head[j + half];
      head[j] = a * cos[j] - b * sin[j];
      head[j + half] = b * cos[j] + a * sin[j];
    }
  }
}

}  // namespace krafla::KRAFLA_KERNELS

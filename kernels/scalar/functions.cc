// The float functions over rows: the meaning. What each one is stands in functions.h; here are only
// the loops.
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

void map_exp(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = exp_of(x[i]);
}

void map_sigmoid(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = sigmoid_of(x[i]);
}

void map_tanh(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = tanh_of(x[i]);
}

void map_erf(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = erf_of(x[i]);
}

void map_log1p(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = log1p_of(x[i]);
}

void map_softplus(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = softplus_of(x[i]);
}

}  // namespace krafla::KRAFLA_KERNELS

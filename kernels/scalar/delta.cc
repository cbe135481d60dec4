// Recurrent layers: the convolution along the tokens and the gated delta rule, written as their
// formulas.
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

void conv_silu(float* x, size_t ldx, size_t n_tokens, size_t n, const float* w, size_t ldw,
               size_t taps, float* tail, size_t ld_tail) {
  for (size_t c = 0; c < n; ++c) {
    float window[8];  // the inputs of the last `taps` tokens
    for (size_t j = 0; j + 1 < taps; ++j) window[j + 1] = tail[j * ld_tail + c];
    for (size_t t = 0; t < n_tokens; ++t) {
      for (size_t j = 0; j + 1 < taps; ++j) window[j] = window[j + 1];
      window[taps - 1] = x[t * ldx + c];
      float y = 0.0f;
      for (size_t j = 0; j < taps; ++j) y = y + w[j * ldw + c] * window[j];
      x[t * ldx + c] = y * sigmoid_of(y);
    }
    for (size_t j = 0; j + 1 < taps; ++j) tail[j * ld_tail + c] = window[j + 1];
  }
}

void gated_delta(const DeltaArgs& a) {
  for (size_t t = 0; t < a.n_tokens; ++t) {
    const float *q = a.q + t * a.ld, *k = a.k + t * a.ld;
    const float qk = a.qk[t * a.ld], decay = a.decay[t * a.ld], beta = a.beta[t * a.ld];
    for (size_t c = 0; c < kDeltaColumns; ++c) {
      float u = 0.0f, w = 0.0f;
      for (size_t i = 0; i < a.head_dim; ++i) {
        const float s = a.state[i * kDeltaColumns + c];
        u = u + k[i] * s;
        w = w + q[i] * s;
      }
      const float v = c < a.n_columns ? a.v[t * a.ld + c] : 0.0f;
      const float d = (v - decay * u) * beta;
      if (c < a.n_columns) a.v[t * a.ld + c] = decay * w + qk * d;
      for (size_t i = 0; i < a.head_dim; ++i) {
        float& s = a.state[i * kDeltaColumns + c];
        s = decay * s + k[i] * d;
      }
    }
  }
}

}  // namespace krafla::KRAFLA_KERNELS

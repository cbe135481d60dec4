// Activations into blocks of 32 signed bytes: the meaning. Whatever comes in, NaN included, becomes
// a defined code.
#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

void quantize(const float* x, size_t n, ActBlock* out) {
  for (size_t begin = 0; begin < n; begin += kBlock, ++out) {
    const size_t count = n - begin < kBlock ? n - begin : kBlock;
    float amax = 0.0f;
    for (size_t i = 0; i < count; ++i) amax = max_of(abs_of(x[begin + i]), amax);
    const float d = amax / 127.0f;
    out->d = d < kSmallestNormal ? 0.0f : d;
    const float id = out->d != 0.0f ? 1.0f / out->d : 0.0f;
    out->sum = 0;
    for (size_t i = 0; i < kBlock; ++i) {
      const float v = i < count ? x[begin + i] : 0.0f;
      const int32_t q = round_even(min_of(max_of(v * id, -127.0f), 127.0f));
      out->q[i] = static_cast<int8_t>(q);
      out->sum += q;
    }
  }
}

}  // namespace krafla::KRAFLA_KERNELS

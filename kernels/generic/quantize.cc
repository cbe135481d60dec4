// Activations into blocks of 32 signed bytes. The largest magnitude is the same in any order, and
// min and max have their operands in the scalar's order, so that a NaN becomes the same code.
#include "kernels/generic/functions.h"
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kVectors = kBlock / kLanes;

inline void quantize_block(const F32 (&v)[kVectors], ActBlock* out) {
  F32 largest = splat(0.0f);
  for (const F32& part : v) largest = max(abs(part), largest);
  const float d = fold_max(largest) / 127.0f;
  out->d = d < kSmallestNormal ? 0.0f : d;
  const F32 id = splat(out->d != 0.0f ? 1.0f / out->d : 0.0f);
  I32 sum = splat_int(0);
  for (size_t j = 0; j < kVectors; ++j) {
    const I32 q = round_to_int(min(max(v[j] * id, splat(-127.0f)), splat(127.0f)));
    store_int8(out->q + j * kLanes, q);
    sum = sum + q;
  }
  out->sum = fold_sum(sum);
}

}  // namespace

void quantize(const float* x, size_t n, ActBlock* out) {
  F32 v[kVectors];
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock, ++out) {
    for (size_t j = 0; j < kVectors; ++j) v[j] = load(x + i + j * kLanes);
    quantize_block(v, out);
  }
  if (i == n) return;
  for (size_t j = 0; j < kVectors; ++j) {
    const size_t left = lanes_left(i + j * kLanes, n);
    v[j] = left == 0 ? splat(0.0f) : load(x + i + j * kLanes, left);
  }
  quantize_block(v, out);
}

}  // namespace krafla::KRAFLA_KERNELS

// Rows of floats: norm, sums, products, gated activations, rotation. A reduction keeps 16 partial
// sums in as many vectors as they need and folds them by one tree (loops.h).
#include "kernels/generic/functions.h"
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {

void rms_norm(const float* x, const float* w, size_t n, float eps, float* y) {
  F32 sums[kParts];
  for (F32& s : sums) s = splat(0.0f);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t p = 0; p < kParts; ++p) {
      const F32 v = load(x + i + p * kLanes);
      sums[p] = sums[p] + v * v;
    }
  }
  for (size_t p = 0; i + p * kLanes < n; ++p) {
    const F32 v = load(x + i + p * kLanes, lanes_left(i + p * kLanes, n));
    sums[p] = sums[p] + v * v;
  }
  const float mean = fold_sums(sums) / static_cast<float>(n);
  const F32 scale = splat(1.0f / __builtin_sqrtf(mean + eps));
  for_vectors(n, [=](size_t j, auto count) {
    store(y + j, (load(x + j, count) * scale) * load(w + j, count), count);
  });
}

void add(const float* x, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) {
    store(y + i, load(y + i, count) + load(x + i, count), count);
  });
}

void mul(const float* x, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) {
    store(y + i, load(y + i, count) * load(x + i, count), count);
  });
}

float dot(const float* x, const float* y, size_t n) {
  F32 sums[kParts];
  for (F32& s : sums) s = splat(0.0f);
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t p = 0; p < kParts; ++p) {
      sums[p] = sums[p] + load(x + i + p * kLanes) * load(y + i + p * kLanes);
    }
  }
  for (size_t p = 0; i + p * kLanes < n; ++p) {
    const size_t at = i + p * kLanes;
    sums[p] = sums[p] + load(x + at, lanes_left(at, n)) * load(y + at, lanes_left(at, n));
  }
  return fold_sums(sums);
}

void scale(float s, size_t n, float* y) {
  const F32 factor = splat(s);
  for_vectors(n, [=](size_t i, auto count) { store(y + i, load(y + i, count) * factor, count); });
}

void silu_mul(const float* gate, const float* up, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) {
    const F32 g = load(gate + i, count);
    store(y + i, (g * sigmoid(g)) * load(up + i, count), count);
  });
}

void gelu_tanh_mul(const float* gate, const float* up, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) {
    store(y + i, gelu_tanh(load(gate + i, count)) * load(up + i, count), count);
  });
}

void gelu_erf_mul(const float* gate, const float* up, size_t n, float* y) {
  for_vectors(n, [=](size_t i, auto count) {
    store(y + i, gelu_erf(load(gate + i, count)) * load(up + i, count), count);
  });
}

void swiglu_clamped(const float* gate, const float* up, float alpha, float limit, size_t n,
                    float* y) {
  const F32 steep = splat(alpha), high = splat(limit), low = splat(-limit), one = splat(1.0f);
  for_vectors(n, [=](size_t i, auto count) {
    const F32 g = min(load(gate + i, count), high);
    const F32 u = min(max(load(up + i, count), low), high);
    store(y + i, (g * sigmoid(g * steep)) * (u + one), count);
  });
}

void rope(float* x, size_t n_heads, size_t ld, size_t n_rot, const float* cos, const float* sin) {
  const size_t half = n_rot / 2;
  for (size_t h = 0; h < n_heads; ++h) {
    float* low = x + h * ld;
    float* high = low + half;
    for_vectors(half, [=](size_t j, auto count) {
      const F32 a = load(low + j, count), b = load(high + j, count);
      const F32 c = load(cos + j, count), s = load(sin + j, count);
      store(low + j, a * c - b * s, count);
      store(high + j, b * c + a * s, count);
    });
  }
}

}  // namespace krafla::KRAFLA_KERNELS

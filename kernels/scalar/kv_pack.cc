// Keys and values into the codes of a quantised page, and the rotation of values. Every set takes
// these: a page is packed once and read by every later token.
#include "kernels/scalar/functions.h"
#include "kernels/scalar/kv_codes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGroup = 32;

// Codes of x ~ s * code + m for given s and m.
inline void codes_of(const float* x, size_t n, float s, float m, float lowest, float highest,
                     int32_t* codes) {
  const float id = s != 0.0f ? 1.0f / s : 0.0f;
  for (size_t i = 0; i < n; ++i) {
    codes[i] = round_even(min_of(max_of((x[i] - m) * id, lowest), highest));
  }
}

inline void put_f16(void* page, size_t offset, size_t i, uint16_t h) {
  memcpy(static_cast<char*>(page) + offset + 2 * i, &h, sizeof h);
}

// The scale of least squares for the codes; the one given where all are zero.
inline uint16_t refined_scale(const float* x, size_t n, const int32_t* codes, uint16_t scale) {
  float xq = 0.0f;
  int32_t qq = 0;
  for (size_t i = 0; i < n; ++i) {
    xq = xq + x[i] * static_cast<float>(codes[i]);
    qq += codes[i] * codes[i];
  }
  return qq == 0 ? scale : narrow_f16(xq / static_cast<float>(qq));
}

}  // namespace

void pack_keys(size_t bits, const uint16_t* keys, size_t head_dim, void* page) {
  const size_t scales = KvCodeBytes(bits, head_dim);
  const float h = static_cast<float>(1 << (bits - 1));
  for (size_t c = 0; c < head_dim; ++c) {
    float x[kGroup], least = 0.0f, most = 0.0f, amax = 0.0f;
    for (size_t i = 0; i < kGroup; ++i) {
      x[i] = widen_f16(keys[c * kGroup + i]);
      least = i == 0 ? x[i] : min_of(x[i], least);
      most = i == 0 ? x[i] : max_of(x[i], most);
      amax = max_of(abs_of(x[i]), amax);
    }
    const uint16_t s = narrow_f16(bits == 8 ? amax / 127.0f : (most - least) / (2.0f * h - 1.0f));
    const uint16_t m = bits == 8 ? 0 : narrow_f16(least + h * widen_f16(s));
    int32_t codes[kGroup];
    codes_of(x, kGroup, widen_f16(s), widen_f16(m), bits == 8 ? -127.0f : -h, h - 1.0f, codes);
    for (size_t i = 0; i < kGroup; ++i) put_code(bits, page, head_dim, c, i, codes[i]);
    put_f16(page, scales, c, s);
    if (bits != 8) put_f16(page, scales, head_dim + c, m);
  }
}

void pack_values(size_t bits, const float* v, size_t head_dim, size_t position, void* page) {
  const size_t n_groups = KvGroups(head_dim), n_rows = kPagePositions * n_groups;
  const float h = static_cast<float>(1 << (bits - 1));
  const float lowest = bits == 8 ? -127.0f : -h, highest = h - 1.0f;
  for (size_t g = 0; g < n_groups; ++g) {
    const float* x = v + g * kGroup;
    const size_t n = head_dim - g * kGroup < kGroup ? head_dim - g * kGroup : kGroup;
    float largest = 0.0f;
    for (size_t i = 0; i < n; ++i) largest = abs_of(x[i]) > abs_of(largest) ? x[i] : largest;
    uint16_t s = narrow_f16(bits == 8 ? abs_of(largest) / 127.0f : largest / -h);
    int32_t codes[kGroup] = {};
    codes_of(x, n, widen_f16(s), 0.0f, lowest, highest, codes);
    if (bits != 8) {
      s = refined_scale(x, n, codes, s);
      codes_of(x, n, widen_f16(s), 0.0f, lowest, highest, codes);
    }
    const size_t row = g * kPagePositions + position;
    for (size_t i = 0; i < kGroup; ++i) put_code(bits, page, n_rows, row, i, codes[i]);
    put_f16(page, KvCodeBytes(bits, n_rows), g * kPagePositions + position, s);
  }
}

void hadamard(float* x, size_t head_dim) {
  const size_t n = head_dim & (~head_dim + 1);
  const float norm = 1.0f / __builtin_sqrtf(static_cast<float>(n));
  for (size_t half = 1; half < n; half *= 2) {
    for (size_t begin = 0; begin < head_dim; begin += 2 * half) {
      for (size_t i = begin; i < begin + half; ++i) {
        const float a = x[i], b = x[i + half];
        x[i] = a + b;
        x[i + half] = a - b;
      }
    }
  }
  for (size_t i = 0; i < head_dim; ++i) x[i] = x[i] * norm;
}

}  // namespace krafla::KRAFLA_KERNELS

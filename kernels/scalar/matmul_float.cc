// f32, f16 and bf16 weights x activations, the reference formats: the meaning. One accumulator an
// output, k ascending; the product is rounded before it is added.
#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline float widened(float w) { return w; }

template <class T, float (*kWiden)(T)>
inline void matmul_float(const void* w, size_t tile_begin, size_t tile_end, size_t k,
                         const float* x, size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const char* tile = static_cast<const char*>(w) + i * k * kTileRows * sizeof(T);
    for (size_t t = 0; t < n_tokens; ++t) {
      float acc[kTileRows] = {};
      for (size_t j = 0; j < k; ++j) {
        T row[kTileRows];
        memcpy(row, tile + j * sizeof row, sizeof row);
        for (size_t r = 0; r < kTileRows; ++r) acc[r] = acc[r] + kWiden(row[r]) * x[t * ldx + j];
      }
      for (size_t r = 0; r < kTileRows; ++r) y[t * ldy + kTileRows * i + r] = acc[r];
    }
  }
}

}  // namespace

void matmul_f32(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<float, widened>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

void matmul_f16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<uint16_t, widen_f16>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

void matmul_bf16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                 size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<uint16_t, widen_bf16>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

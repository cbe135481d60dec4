// f32, f16 and bf16 weights x activations: the reference formats. Lanes are rows, so no sum crosses
// lanes; several tokens share each load of weights, with one accumulator an output as ever.
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline F32 load_f32(const float* p) { return load(p); }

template <class T, F32 (*kLoad)(const T*), size_t kTokens>
inline void matmul_tile(const T* tile, size_t k, const float* x, size_t ldx, float* y, size_t ldy) {
  F32 acc[kTokens][kParts];
  for (auto& row : acc) {
    for (F32& part : row) part = splat(0.0f);
  }
  for (size_t j = 0; j < k; ++j) {
    const T* row = tile + j * kTileRows;
    if (kTokens == 1) prefetch(row + kPrefetchBytes / sizeof(T));
    F32 weights[kParts];
#pragma GCC unroll 4
    for (size_t p = 0; p < kParts; ++p) weights[p] = kLoad(row + p * kLanes);
#pragma GCC unroll 16
    for (size_t t = 0; t < kTokens; ++t) {
      const F32 v = splat(x[t * ldx + j]);
#pragma GCC unroll 4
      for (size_t p = 0; p < kParts; ++p) acc[t][p] = acc[t][p] + weights[p] * v;
    }
  }
  for (size_t t = 0; t < kTokens; ++t) {
    for (size_t p = 0; p < kParts; ++p) store(y + t * ldy + p * kLanes, acc[t][p]);
  }
}

template <class T, F32 (*kLoad)(const T*), size_t kTokens>
inline void matmul_rest(const T* tile, size_t k, const float* x, size_t ldx, size_t n_tokens,
                        float* y, size_t ldy) {
  if constexpr (kTokens > 0) {
    if (n_tokens == kTokens) {
      matmul_tile<T, kLoad, kTokens>(tile, k, x, ldx, y, ldy);
    } else {
      matmul_rest<T, kLoad, kTokens - 1>(tile, k, x, ldx, n_tokens, y, ldy);
    }
  }
}

template <class T, F32 (*kLoad)(const T*)>
inline void matmul_float(const void* w, size_t tile_begin, size_t tile_end, size_t k,
                         const float* x, size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  for (size_t i = tile_begin; i < tile_end; ++i) {
    const T* tile = static_cast<const T*>(w) + i * k * kTileRows;
    float* out = y + i * kTileRows;
    size_t t = 0;
    for (; t + kFloatTokens <= n_tokens; t += kFloatTokens) {
      matmul_tile<T, kLoad, kFloatTokens>(tile, k, x + t * ldx, ldx, out + t * ldy, ldy);
    }
    matmul_rest<T, kLoad, kFloatTokens - 1>(tile, k, x + t * ldx, ldx, n_tokens - t, out + t * ldy,
                                            ldy);
  }
}

}  // namespace

void matmul_f32(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<float, load_f32>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

void matmul_f16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<uint16_t, load_f16>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

void matmul_bf16(const void* w, size_t tile_begin, size_t tile_end, size_t k, const float* x,
                 size_t ldx, size_t n_tokens, float* y, size_t ldy) {
  matmul_float<uint16_t, load_bf16>(w, tile_begin, tile_end, k, x, ldx, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

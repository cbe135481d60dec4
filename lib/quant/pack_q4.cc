// q4: the values of GGUF's Q4_0 (32 weights, f16 scale d, q in [-8, 7], w = d q). The scale is the
// best of 19 by weighted least squares, the weight of x being sqrt(mean(row^2) + x^2): of the rules
// that need no data it has the lowest KL divergence (docs/formats.md). Plain least squares shrinks
// the large weights; column norms and norm weights as priors make it much worse.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "lib/quant/format.h"
#include "lib/quant/half.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

constexpr float kMaxF16 = 65504.0f;
constexpr size_t kLanes = 16;  // partial sums, so that compilers need no leave to reorder them

struct Fit {
  float xq;  // sum of w x q
  float qq;  // sum of w q q
};

float Fold(float s[kLanes]) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; l++) s[l] += s[l + half];
  }
  return s[0];
}

Fit FitAt(const float x[kBlock], const float w[kBlock], float inverse) {
  float xq[kLanes] = {};
  float qq[kLanes] = {};
  for (size_t i = 0; i < kBlock; i += kLanes) {
    for (size_t l = 0; l < kLanes; l++) {
      const float q = RoundEven(Clamp(x[i + l] * inverse, -8, 7));
      const float wq = w[i + l] * q;
      xq[l] += wq * x[i + l];
      qq[l] += wq * q;
    }
  }
  return {Fold(xq), Fold(qq)};
}

// The scale that fits x best. max: the element of the largest magnitude, with its sign.
float BestScale(const float x[kBlock], const float w[kBlock], float max) {
  // Another scale must gain more than rounding errors can: blocks that came from Q4_0 keep theirs.
  constexpr float kMargin = 1 + 0x1p-18f;
  Fit best = FitAt(x, w, -8 / max);
  float gain = best.xq * best.xq / best.qq;
  for (int step = -9; step <= 9; step++) {
    if (step == 0) continue;
    const Fit fit = FitAt(x, w, -(8 + 0.1f * static_cast<float>(step)) / max);
    const float g = fit.xq * fit.xq / fit.qq;
    if (g > gain * kMargin) {
      gain = g;
      best = fit;
    }
  }
  return best.xq / best.qq;
}

// 32 values to scale and codes.
uint16_t QuantizeBlock(const float x[kBlock], float mean_square, int8_t q[kBlock]) {
  float amax = 0;
  float max = 0;
  for (size_t i = 0; i < kBlock; i++) {
    if (std::fabs(x[i]) > amax) {
      amax = std::fabs(x[i]);
      max = x[i];
    }
  }
  uint16_t d = 0;
  // Below this the scale would round to zero in f16, and the squares below could vanish.
  if (amax > 0x1p-24f) {
    float unit[kBlock];
    float w[kBlock];
    const float norm = mean_square / (amax * amax);
    for (size_t i = 0; i < kBlock; i++) {
      unit[i] = x[i] / amax;
      w[i] = std::sqrt(norm + unit[i] * unit[i]);
    }
    d = F32ToF16(Clamp(BestScale(unit, w, max / amax) * amax, -kMaxF16, kMaxF16));
  }
  const float scale = F16ToF32(d);
  const float inverse = scale != 0 ? 1 / scale : 0;
  for (size_t i = 0; i < kBlock; i++) {
    q[i] = static_cast<int8_t>(RoundEven(Clamp(x[i] * inverse, -8, 7)));
  }
  return d;
}

}  // namespace

float MeanSquare(const float* x, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += double{x[i]} * x[i];
  return static_cast<float>(sum / static_cast<double>(n));
}

void StoreBlockQ4(void* tile_block, size_t row, uint16_t d, const int8_t q[32]) {
  auto* block = static_cast<unsigned char*>(tile_block);
  std::memcpy(block + 2 * row, &d, sizeof d);
  for (size_t j = 0; j < 4; j++) {
    unsigned char* lane = block + 32 + 64 * j + 4 * row;
    for (size_t i = 0; i < 4; i++) {
      const int low = q[8 * j + i] + 8;
      const int high = q[8 * j + 4 + i] + 8;
      lane[i] = static_cast<unsigned char>(low | (high << 4));
    }
  }
}

Status PackQ4(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile) {
  const int8_t zeros[kBlock] = {};
  float mean_square[kTileRows] = {};
  for (size_t r = 0; r < n_rows; r++) mean_square[r] = MeanSquare(rows + r * ld, cols);
  auto* block = static_cast<unsigned char*>(tile);
  for (size_t k = 0; k < cols; k += kBlock, block += kTileBlockQ4) {
    const size_t n = std::min(kBlock, cols - k);
    for (size_t r = 0; r < kTileRows; r++) {
      if (r >= n_rows) {
        StoreBlockQ4(block, r, 0, zeros);
        continue;
      }
      float x[kBlock] = {};
      std::memcpy(x, rows + r * ld + k, n * sizeof(float));
      for (size_t i = 0; i < n; i++) {
        if (std::fabs(x[i]) > kMaxF16 * 8) {
          return FileError("row {}, column {}: {} is too large for q4", r, k + i, x[i]);
        }
      }
      int8_t q[kBlock];
      const uint16_t d = QuantizeBlock(x, mean_square[r], q);
      StoreBlockQ4(block, r, d, q);
    }
  }
  return OkStatus();
}

Status PackTileFromQ4_0(const void* const* rows, size_t n_rows, size_t n_blocks, void* tile) {
  const int8_t zeros[kBlock] = {};
  auto* block = static_cast<unsigned char*>(tile);
  for (size_t b = 0; b < n_blocks; b++, block += kTileBlockQ4) {
    for (size_t r = 0; r < kTileRows; r++) {
      if (r >= n_rows) {
        StoreBlockQ4(block, r, 0, zeros);
        continue;
      }
      // GGUF: byte i holds k = i in its low nibble and k = 16 + i in its high one.
      const auto* from = static_cast<const unsigned char*>(rows[r]) + b * 18;
      uint16_t d;
      std::memcpy(&d, from, sizeof d);
      if ((d & 0x7C00u) == 0x7C00u) {
        return FileError("row {}, columns {}..: scale {}", r, b * kBlock, F16ToF32(d));
      }
      int8_t q[kBlock];
      for (size_t i = 0; i < 16; i++) {
        q[i] = static_cast<int8_t>((from[2 + i] & 15) - 8);
        q[16 + i] = static_cast<int8_t>((from[2 + i] >> 4) - 8);
      }
      StoreBlockQ4(block, r, d, q);
    }
  }
  return OkStatus();
}

}  // namespace krafla

// q8: the values of GGUF's Q8_0 (32 weights, f16 scale d = amax / 127, w = d q). Codes are rounded
// with the scale as it is stored, so that quantising twice changes nothing.
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

}  // namespace

void StoreBlockQ8(void* tile_block, size_t row, uint16_t d, const int8_t q[32]) {
  auto* block = static_cast<unsigned char*>(tile_block);
  std::memcpy(block + 2 * row, &d, sizeof d);
  for (size_t j = 0; j < 8; j++) std::memcpy(block + 32 + 64 * j + 4 * row, q + 4 * j, 4);
}

Status PackQ8(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile) {
  std::memset(tile, 0, TileBytes(Format::kQ8, cols));
  auto* block = static_cast<unsigned char*>(tile);
  for (size_t k = 0; k < cols; k += kBlock, block += kTileBlockQ8) {
    const size_t n = std::min(kBlock, cols - k);
    for (size_t r = 0; r < n_rows; r++) {
      float x[kBlock] = {};
      std::memcpy(x, rows + r * ld + k, n * sizeof(float));
      float amax = 0;
      for (const float v : x) amax = std::max(amax, std::fabs(v));
      if (amax > kMaxF16 * 127) {
        return FileError("row {}, columns {}..: {} is too large for q8", r, k, amax);
      }
      const uint16_t d = F32ToF16(amax / 127);
      const float scale = F16ToF32(d);
      const float inverse = scale != 0 ? 1 / scale : 0;
      int8_t q[kBlock];
      for (size_t i = 0; i < kBlock; i++) {
        q[i] = static_cast<int8_t>(RoundEven(Clamp(x[i] * inverse, -127, 127)));
      }
      StoreBlockQ8(block, r, d, q);
    }
  }
  return OkStatus();
}

Status PackTileFromQ8_0(const void* const* rows, size_t n_rows, size_t n_blocks, void* tile) {
  std::memset(tile, 0, n_blocks * kTileBlockQ8);
  for (size_t r = 0; r < n_rows; r++) {
    const auto* from = static_cast<const unsigned char*>(rows[r]);
    auto* block = static_cast<unsigned char*>(tile);
    for (size_t b = 0; b < n_blocks; b++, from += 34, block += kTileBlockQ8) {
      uint16_t d;
      int8_t q[kBlock];
      std::memcpy(&d, from, sizeof d);
      std::memcpy(q, from + 2, sizeof q);
      if ((d & 0x7C00u) == 0x7C00u) {
        return FileError("row {}, columns {}..: scale {}", r, b * kBlock, F16ToF32(d));
      }
      StoreBlockQ8(block, r, d, q);
    }
  }
  return OkStatus();
}

}  // namespace krafla

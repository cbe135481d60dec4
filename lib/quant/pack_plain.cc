// f32, f16 and bf16 tiles: [k][16 rows], no padding of k.
#include <cstring>

#include "kernels/kernels.h"
#include "lib/quant/half.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

template <typename T, typename Convert>
void Transpose(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile,
               Convert convert) {
  auto* out = static_cast<unsigned char*>(tile);
  for (size_t k = 0; k < cols; k++) {
    T lane[kTileRows] = {};
    for (size_t r = 0; r < n_rows; r++) lane[r] = convert(rows[r * ld + k]);
    std::memcpy(out + k * sizeof lane, lane, sizeof lane);
  }
}

// The first value that the 16-bit format turns into infinity.
template <typename IsInfinite>
Status CheckRange(const float* rows, size_t ld, size_t n_rows, size_t cols, std::string_view format,
                  IsInfinite is_infinite) {
  for (size_t r = 0; r < n_rows; r++) {
    for (size_t k = 0; k < cols; k++) {
      const float x = rows[r * ld + k];
      if (is_infinite(x))
        return FileError("row {}, column {}: {} is too large for {}", r, k, x, format);
    }
  }
  return OkStatus();
}

}  // namespace

Status PackF32(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile) {
  Transpose<float>(rows, ld, n_rows, cols, tile, [](float x) { return x; });
  return OkStatus();
}

Status PackF16(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile) {
  KRAFLA_RETURN_IF_ERROR(CheckRange(rows, ld, n_rows, cols, "f16",
                                    [](float x) { return !(x < 65520.0f && x > -65520.0f); }));
  Transpose<uint16_t>(rows, ld, n_rows, cols, tile, F32ToF16);
  return OkStatus();
}

Status PackBF16(const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile) {
  KRAFLA_RETURN_IF_ERROR(CheckRange(rows, ld, n_rows, cols, "bf16",
                                    [](float x) { return (F32ToBf16(x) & 0x7FFFu) == 0x7F80u; }));
  Transpose<uint16_t>(rows, ld, n_rows, cols, tile, F32ToBf16);
  return OkStatus();
}

}  // namespace krafla

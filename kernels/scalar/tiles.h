// Where a code lies in a tile-block of 16 rows x 32 k (kernels.h has the layouts in words), looked
// up one code at a time: products and get_row share this one description of the layout.
#ifndef KRAFLA_KERNELS_SCALAR_TILES_H_
#define KRAFLA_KERNELS_SCALAR_TILES_H_

#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct Q8 {
  static constexpr size_t kBytes = kTileBlockQ8;
  static int32_t code(const uint8_t* block, size_t row, size_t k) {
    return static_cast<int8_t>(block[32 + 64 * (k / 4) + 4 * row + k % 4]);
  }
};

struct Q4 {
  static constexpr size_t kBytes = kTileBlockQ4;
  static int32_t code(const uint8_t* block, size_t row, size_t k) {
    const uint8_t pair = block[32 + 64 * (k / 8) + 4 * row + k % 4];
    return (k % 8 < 4 ? pair & 15 : pair >> 4) - 8;
  }
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_TILES_H_

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

// Affine formats: `group` is a whole one, k counts from its start.
template <size_t kBlocks>
struct Q4A {
  static constexpr size_t kGroup = kBlocks * kBlock;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ4A;
  static int32_t code(const uint8_t* group, size_t row, size_t k) {
    const uint8_t* block = group + kAffineScales + k / kBlock * kCodesQ4A;
    const uint8_t pair = block[64 * (k % kBlock / 8) + 4 * row + k % 4];
    return k % 8 < 4 ? pair & 15 : pair >> 4;
  }
};

template <size_t kBlocks>
struct Q6A {
  static constexpr size_t kGroup = kBlocks * kBlock;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ6A;
  static int32_t code(const uint8_t* group, size_t row, size_t k) {
    const uint8_t* block = group + kAffineScales + k / kBlock * kCodesQ6A;
    const size_t j = k % kBlock;
    const uint8_t pair = block[64 * (j / 8) + 4 * row + j % 4];
    const uint8_t high = block[256 + 64 * (j / 16) + 4 * row + j % 4];
    return (j % 8 < 4 ? pair & 15 : pair >> 4) | ((high >> (2 * (j / 4 % 4)) & 3) << 4);
  }
};

template <size_t kBlocks>
struct Q8A {
  static constexpr size_t kGroup = kBlocks * kBlock;
  static constexpr size_t kBytes = kAffineScales + kBlocks * kCodesQ8A;
  static int32_t code(const uint8_t* group, size_t row, size_t k) {
    const uint8_t* block = group + kAffineScales + k / kBlock * kCodesQ8A;
    return static_cast<int8_t>(block[64 * (k % kBlock / 4) + 4 * row + k % 4]);
  }
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_TILES_H_

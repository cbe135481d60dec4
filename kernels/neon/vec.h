// The vector vocabulary of generic/ on AArch64 without dot products (docs/kernels.md lists what
// each name means).
#ifndef KRAFLA_KERNELS_NEON_VEC_H_
#define KRAFLA_KERNELS_NEON_VEC_H_

#include "kernels/arm/products.h"
#include "kernels/neon/lanes.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 4;     // tokens of a quantised tile: 8 half sums, 16 accumulators
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 2;     // 8 of one token

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_VEC_H_

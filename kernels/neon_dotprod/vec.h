// The vector vocabulary of generic/ on AArch64 with dot products of bytes (docs/kernels.md lists
// what each name means).
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

#include "kernels/neon_dotprod/products.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 6;     // tokens of a quantised tile: 6 sums, 24 accumulators
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 4;     // the whole tile of one token

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

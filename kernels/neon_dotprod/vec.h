// The vector vocabulary of generic/ on AArch64 with dot products of bytes (docs/kernels.md lists
// what each name means).
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

#include "kernels/neon_dotprod/products.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 4;     // tokens of a quantised tile: 16 sums, 4 codes
constexpr size_t kPartsTogether = 4;  // a whole tile

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_VEC_H_

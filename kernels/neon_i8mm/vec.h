// The vector vocabulary of generic/ on AArch64 with matrix products of bytes: neon_dotprod's, but
// that the tokens of a tile come in pairs (block_product.h).
#ifndef KRAFLA_KERNELS_NEON_I8MM_VEC_H_
#define KRAFLA_KERNELS_NEON_I8MM_VEC_H_

#include "kernels/neon_dotprod/products.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kGemmTokens = 8;     // tokens of a quantised tile: 8 sums of 2 rows x 2 tokens
constexpr size_t kPartsTogether = 1;  // 4 rows at a time
constexpr size_t kPartsAlone = 4;     // the whole tile of one token

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_NEON_I8MM_VEC_H_

// How matmul_quant.h multiplies a block where a set knows no better way: dot products of four
// bytes. In a folder of its own: beside the file that includes it, it would be found before a
// set's.
#ifndef KRAFLA_KERNELS_GENERIC_DEFAULTS_BLOCK_PRODUCT_H_
#define KRAFLA_KERNELS_GENERIC_DEFAULTS_BLOCK_PRODUCT_H_

namespace krafla::KRAFLA_KERNELS {
namespace {

template <class Format, size_t kTokens>
inline void block_product(const uint8_t* block, size_t in_group, const ActBlock* x, size_t n_blocks,
                          F32 (&acc)[kTokens][kParts]) {
  matmul_block<Format, kTokens>(block, in_group, x, n_blocks, acc);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_DEFAULTS_BLOCK_PRODUCT_H_

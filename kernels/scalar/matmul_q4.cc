// 4-bit weights x activations: the meaning. Codes are made signed before they are multiplied;
// faster builds take the 8 off afterwards, which integers allow.
#include "kernels/scalar/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {

void matmul_q4(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  matmul_quant<Q4>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

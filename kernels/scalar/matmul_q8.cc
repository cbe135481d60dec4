// 8-bit weights x activations: the meaning. All of -128 .. 127 are legal codes, since foreign files
// may hold them.
#include "kernels/scalar/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {

void matmul_q8(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  matmul_quant<Q8>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

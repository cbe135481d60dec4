// 4-bit weights x activations on SVE. By analysis alone (docs/comparison.md): vectors of 256 bits
// halve the instructions of a token, and 512 bits take a tile's row of codes at once.
#include "kernels/sve/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct Q4 {
  static constexpr size_t kBytes = kTileBlockQ4;
  static constexpr int32_t kOffset = 8;
  static svint8_t codes(svbool_t rows, const uint8_t* block, size_t quad, size_t first) {
    const uint8_t* at = block + 32 + quad / 2 * 64 + first * 4;
    const svuint32_t pairs = svld1_u32(rows, reinterpret_cast<const uint32_t*>(at));
    const svuint32_t one = quad % 2 == 0 ? pairs : svlsr_n_u32_x(rows, pairs, 4);
    return svreinterpret_s8_u32(svand_n_u32_x(rows, one, 0x0f0f0f0fu));
  }
};

}  // namespace

void matmul_q4(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  sve_matmul<Q4>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

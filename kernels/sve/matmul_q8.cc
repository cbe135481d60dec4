// 8-bit weights x activations on SVE (matmul_q4.cc says what it is for).
#include "kernels/sve/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct Q8 {
  static constexpr size_t kBytes = kTileBlockQ8;
  static constexpr int32_t kOffset = 0;
  static svint8_t codes(svbool_t rows, const uint8_t* block, size_t quad, size_t first) {
    const uint8_t* at = block + 32 + quad * 64 + first * 4;
    return svreinterpret_s8_s32(svld1_s32(rows, reinterpret_cast<const int32_t*>(at)));
  }
};

}  // namespace

void matmul_q8(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  sve_matmul<Q8>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

// 8-bit weights x activations. Codes are signed; how a set without products of signed bytes gets
// them is its vec.h's affair (DotI8).
#include "kernels/generic/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct Q8 {
  using Dot = DotI8;
  static constexpr size_t kBlocks = 1;
  static constexpr bool kAffine = false;
  static constexpr size_t kBytes = kTileBlockQ8;
  static constexpr int32_t kOffset = Dot::kOffset;
  static I32 codes(const uint8_t* block, size_t, size_t quad, size_t part) {
    return load_int(block + 32 + quad * 64 + part * kLanes * 4);
  }
};

}  // namespace

void matmul_q8(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  matmul_quant<Q8>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

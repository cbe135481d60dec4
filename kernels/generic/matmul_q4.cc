// 4-bit weights x activations. The nibbles stay unsigned; 8 times the sum of the activations comes
// off the integer sum.
#include "kernels/generic/matmul_quant.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct Q4 {
  using Dot = DotU4;
  static constexpr size_t kBlocks = 1;
  static constexpr bool kAffine = false;
  static constexpr size_t kBytes = kTileBlockQ4;
  static constexpr int32_t kOffset = 8;
  static I32 codes(const uint8_t* block, size_t, size_t quad, size_t part) {
    const I32 pairs = load_int(block + 32 + quad / 2 * 64 + part * kLanes * 4);
    const I32 low = splat_int(0x0f0f0f0f);
    return quad % 2 == 0 ? pairs & low : shift_right<4>(pairs) & low;
  }
};

}  // namespace

void matmul_q4(const void* w, size_t tile_begin, size_t tile_end, size_t n_blocks,
               const ActBlock* x, size_t n_tokens, float* y, size_t ldy) {
  matmul_quant<Q4>(w, tile_begin, tile_end, n_blocks, x, n_tokens, y, ldy);
}

}  // namespace krafla::KRAFLA_KERNELS

// Sizes of the arena's regions. Regions begin at multiples of 64 bytes.
#include "lib/model/arena.h"

#include <algorithm>

#include "lib/model/blocks.h"

namespace krafla {
namespace {

class Walk {
 public:
  uint64_t Take(uint64_t count, uint64_t width, uint64_t element_bytes) {
    const uint64_t begin = at_;
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, width, &bytes) ||
        __builtin_mul_overflow(bytes, element_bytes, &bytes) ||
        __builtin_add_overflow(bytes, uint64_t{63}, &bytes) ||
        __builtin_add_overflow(at_, bytes / 64 * 64, &at_)) {
      at_ = 0;
      overflow_ = true;
    }
    return begin;
  }
  uint64_t bytes() const { return overflow_ ? UINT64_MAX : at_; }

 private:
  uint64_t at_ = 0;
  bool overflow_ = false;
};

}  // namespace

ArenaLayout::ArenaLayout(const NetworkShape& shape, size_t max_rows, int64_t context,
                         size_t threads) {
  const size_t quantized_blocks = BlocksOf(shape.quantized_width);
  max_pairs = (static_cast<size_t>(context) + kAttendPositions - 1) / kAttendPositions;
  Walk walk;
  x = walk.Take(max_rows, PadTo16(shape.n_embd), sizeof(float));
  act = walk.Take(max_rows, PadTo16(shape.act_width), sizeof(float));
  blocks = walk.Take(max_rows, quantized_blocks, sizeof(ActBlock));
  wide = walk.Take(max_rows, shape.wide, sizeof(float));
  rope_cos = walk.Take(max_rows, shape.rope_width, sizeof(float));
  rope_sin = walk.Take(max_rows, shape.rope_width, sizeof(float));
  part_m = walk.Take(max_pairs, shape.n_heads, sizeof(float));
  part_l = walk.Take(max_pairs, shape.n_heads, sizeof(float));
  part_o = walk.Take(max_pairs, shape.n_heads * shape.head_dim, sizeof(float));
  const size_t pairs = max_rows * shape.n_experts_used;
  route_expert = walk.Take(pairs, 1, sizeof(uint32_t));
  route_weight = walk.Take(pairs, 1, sizeof(float));
  route_pair = walk.Take(pairs, 1, sizeof(uint32_t));
  route_shared = walk.Take(shape.n_experts == 0 ? 0 : max_rows, 1, sizeof(float));
  route_row = walk.Take(pairs, 1, sizeof(uint32_t));
  route_hit = walk.Take(shape.n_experts, 1, sizeof(uint32_t));
  route_begin = walk.Take(shape.n_experts + 1, 1, sizeof(uint32_t));
  route_n_hit = walk.Take(1, 1, sizeof(uint32_t));
  expert_rows = walk.Take(pairs, PadTo16(shape.n_embd), sizeof(float));
  expert_units = walk.Take(pairs, PadTo16(shape.n_ff_expert), sizeof(float));
  expert_blocks =
      walk.Take(pairs, BlocksOf(std::max(shape.n_embd, shape.n_ff_expert)), sizeof(ActBlock));
  logits = walk.Take(std::min(max_rows, kHeadRows), PadTo16(shape.n_vocab), sizeof(float));
  // A piece of tiles has kTileFloats outputs, or one tile of every row.
  scratch_bytes = std::max<uint64_t>(std::max(kTileFloats, max_rows * kTileRows) * sizeof(float),
                                     krafla::blocks::AttendScratchBytes(shape.head_dim));
  scratch_bytes = (scratch_bytes + 63) / 64 * 64;
  scratch = walk.Take(threads, scratch_bytes, 1);
  bytes = walk.bytes();
}

}  // namespace krafla

// See slab.h.
#include "lib/weights/residency/slab.h"

namespace krafla {
namespace {

constexpr uint64_t kSmallPage = 4096;
constexpr uint64_t kLargePage = uint64_t{2} << 20;
constexpr uint64_t kMostWaste = 20;  // 1/20 of a piece
constexpr size_t kSmallPieces = 8;   // of a slab that is too small for large pages

uint64_t RoundUp(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace

// The fewest slots whose bytes nearly fill whole large pages.
SlabShape::SlabShape(uint64_t bytes, size_t most)
    : slot_bytes(RoundUp(bytes, kSmallPage)), max_slots(most) {
  if (slot_bytes * max_slots < 2 * kSmallPieces * kLargePage) {
    piece_slots = std::max<size_t>((max_slots + kSmallPieces - 1) / kSmallPieces, 1);
    piece_bytes = piece_slots * slot_bytes;
    return;
  }
  for (piece_slots = 1;; ++piece_slots) {
    const uint64_t used = piece_slots * slot_bytes;
    piece_bytes = RoundUp(used, kLargePage);
    if (used >= 2 * kLargePage && piece_bytes - used <= used / kMostWaste) return;
  }
}

uint64_t SlabShape::bytes_of(size_t piece) const {
  return slots_of(piece) == piece_slots ? piece_bytes : slots_of(piece) * slot_bytes;
}

uint64_t SlabShape::BytesFor(size_t slots) const {
  uint64_t bytes = slots / piece_slots * piece_bytes;
  if (slots % piece_slots != 0) bytes += bytes_of(slots / piece_slots);
  return bytes;
}

Status Slab::Add(size_t piece) {
  KRAFLA_ASSIGN_OR_RETURN(pieces_[piece],
                          memory_.Allocate(shape_.bytes_of(piece), MemoryKind::kWeights,
                                           "experts in memory", static_cast<size_t>(kSmallPage)));
  bytes_ += pieces_[piece].size();
  return OkStatus();
}

void Slab::Drop(size_t piece) {
  bytes_ -= pieces_[piece].size();
  pieces_[piece] = Buffer();
}

}  // namespace krafla

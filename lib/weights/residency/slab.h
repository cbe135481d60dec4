// Memory for experts: slots of one size in pieces of whole large pages, which come from the runtime
// one by one and go back one by one. Not thread-safe.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_SLAB_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_SLAB_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lib/base/status.h"
#include "lib/runtime/memory.h"

namespace krafla {

// How slots are cut into pieces, and how many a number of bytes gives.
struct SlabShape {
  // slot_bytes is rounded up to whole small pages; at most max_slots are ever wanted.
  SlabShape(uint64_t slot_bytes, size_t max_slots);

  uint64_t slot_bytes = 0;
  size_t max_slots = 0;
  size_t piece_slots = 0;
  uint64_t piece_bytes = 0;

  size_t max_pieces() const { return (max_slots + piece_slots - 1) / piece_slots; }
  size_t slots_of(size_t piece) const {
    return std::min(piece_slots, max_slots - piece * piece_slots);
  }
  uint64_t bytes_of(size_t piece) const;
  uint64_t BytesFor(size_t slots) const;  // of the pieces that hold them
};

class Slab {
 public:
  Slab(Memory& memory, const SlabShape& shape)
      : memory_(memory), shape_(shape), pieces_(shape.max_pieces()) {}

  const SlabShape& shape() const { return shape_; }
  Status Add(size_t piece);
  void Drop(size_t piece);
  bool has(size_t piece) const { return pieces_[piece].data() != nullptr; }
  uint64_t bytes() const { return bytes_; }
  size_t piece_of(size_t slot) const { return slot / shape_.piece_slots; }
  std::byte* slot(size_t i) const {
    return pieces_[piece_of(i)].data() + i % shape_.piece_slots * shape_.slot_bytes;
  }

 private:
  Memory& memory_;
  const SlabShape shape_;
  std::vector<Buffer> pieces_;
  uint64_t bytes_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_SLAB_H_

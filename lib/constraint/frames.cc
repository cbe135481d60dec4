// See frames.h.
#include "lib/constraint/frames.h"

#include <utility>

#include "lib/constraint/hash.h"

namespace krafla {

Frames::Frames() : frames_{{0, 0, 0, 0}}, slots_(64, 0) {}

uint32_t Frames::Push(uint32_t below, uint32_t site, uint32_t data) {
  const size_t mask = slots_.size() - 1;
  size_t slot = MixHash({below, site, data}) & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Frame& frame = frames_[slots_[slot]];
    if (frame.below == below && frame.site == site && frame.data == data) return slots_[slot];
  }
  if (frames_.size() * 2 > slots_.size()) {
    Grow();
    return Push(below, site, data);
  }
  const auto stack = static_cast<uint32_t>(frames_.size());
  frames_.push_back({below, site, data, frames_[below].depth + 1});
  slots_[slot] = stack;
  return stack;
}

void Frames::Grow() {
  std::vector<uint32_t> larger(slots_.size() * 2, 0);
  const size_t mask = larger.size() - 1;
  for (uint32_t stack = 1; stack < frames_.size(); ++stack) {
    const Frame& frame = frames_[stack];
    size_t slot = MixHash({frame.below, frame.site, frame.data}) & mask;
    while (larger[slot] != 0) slot = (slot + 1) & mask;
    larger[slot] = stack;
  }
  slots_.swap(larger);
}

uint32_t Frames::AddSeen(SeenMembers seen) {
  if (seen_list_.size() == seen_list_.capacity()) seen_list_.reserve(2 * seen_list_.size() + 16);
  const size_t words = seen.items.size();
  const auto [it, added] = seen_.try_emplace(std::move(seen), seen_list_.size());
  if (added) {
    seen_list_.push_back(&it->first);
    seen_bytes_ += words * 4 + 128;
  }
  return it->second;
}

size_t Frames::bytes() const {
  return frames_.capacity() * sizeof(Frame) + slots_.capacity() * 4 + seen_bytes_;
}

}  // namespace krafla

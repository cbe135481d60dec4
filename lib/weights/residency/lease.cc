// What a pass holds of a layer, see residency.h.
#include <algorithm>
#include <chrono>

#include "lib/weights/residency/residency.h"

namespace krafla {
namespace {

// Of the experts that are there while others wait for a slot, the share that is taken at once: the
// first come free while the rest are multiplied.
constexpr size_t kShare = 4;

}  // namespace

void ExpertLease::Open(Residency& residency, size_t layer, std::span<const ExpertUse> uses,
                       bool again) {
  residency_ = &residency;
  layer_ = layer;
  entries_.clear();
  for (const ExpertUse& use : uses) entries_.push_back({use});
  // What most rows want is read first.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.use.uses > b.use.uses; });
  const size_t experts = residency.layout_.layers[layer].experts;
  scan_ = uses.size() * 2 >= experts;
  const std::lock_guard<std::mutex> lock(residency.mutex_);
  if (!again) {
    residency.NotePass(layer);
    residency.NoteExpected(layer, uses);
    for (const Entry& entry : entries_) {
      residency.heat_.Add(layer, entry.use.expert, entry.use.uses);
    }
  }
  // Those that are there, before one that is not takes a slot of theirs.
  for (Entry& entry : entries_) {
    if (residency.layers_[layer].slot_of[entry.use.expert] == Residency::kNoSlot) continue;
    bool hit = false;
    entry.slot = residency.Pin(layer, entry.use.expert, &hit);
    entry.stage = Stage::kPinned;
    if (!again) ++(hit ? residency.counts_.hits : residency.counts_.misses);
  }
  PinMore();
}

void ExpertLease::PinMore() {
  bool waits = false;
  for (Entry& entry : entries_) {
    if (entry.stage != Stage::kWaiting) continue;
    bool hit = false;
    entry.slot = residency_->Pin(layer_, entry.use.expert, &hit);
    if (entry.slot == Residency::kNoSlot) {
      waits = true;
      break;  // the next one would find none either
    }
    entry.stage = Stage::kPinned;
    ++residency_->counts_.misses;
  }
  SetStarved(waits);
  if (residency_->layout_.whole_layers) {
    if (!waits) residency_->PrefetchAhead(layer_);
  } else if (scan_ && !waits && layer_ + 1 < residency_->layers_.size()) {
    residency_->Prefetch(layer_ + 1);
  }
}

void ExpertLease::SetStarved(bool starved) {
  if (starved == starved_) return;
  starved_ = starved;
  residency_->starved_ += starved ? 1 : size_t(-1);
}

size_t ExpertLease::Fitting(size_t ready, size_t waiting) const {
  return waiting == 0 ? ready : std::max<size_t>(ready / kShare, 2);
}

StatusOr<std::span<const ExpertLease::Held>> ExpertLease::Take() {
  held_.clear();
  const std::lock_guard<std::mutex> lock(residency_->mutex_);
  seen_ = residency_->version_;
  PinMore();
  size_t ready = 0;
  size_t waiting = 0;
  for (const Entry& entry : entries_) {
    waiting += entry.stage == Stage::kWaiting;
    if (entry.stage != Stage::kPinned) continue;
    const Residency::Slot& slot = residency_->all_slots_[static_cast<size_t>(entry.slot)];
    if (slot.state == Residency::State::kFailed) return slot.error;
    ready += slot.state == Residency::State::kReady;
  }
  size_t room = Fitting(ready, waiting);
  for (Entry& entry : entries_) {
    if (room == 0) break;
    const auto slot = static_cast<size_t>(entry.slot);
    if (entry.stage != Stage::kPinned ||
        residency_->all_slots_[slot].state != Residency::State::kReady) {
      continue;
    }
    entry.stage = Stage::kTaken;
    const std::byte* data = residency_->slab_.slot(slot);
    held_.push_back({entry.use.tag, data});
    // Whoever reads it holds the slot, and then it is this one already.
    if (residency_->layout_.whole_layers && residency_->layer_data_[layer_] != data) {
      residency_->layer_data_[layer_] = data;
    }
    --room;
  }
  return std::span<const Held>(held_);
}

void ExpertLease::Finish() {
  const std::lock_guard<std::mutex> lock(residency_->mutex_);
  for (Entry& entry : entries_) {
    if (entry.stage != Stage::kTaken) continue;
    residency_->Unpin(entry.slot);
    entry.stage = Stage::kDone;
  }
  PinMore();
}

void ExpertLease::Wait(int64_t most_us) {
  const uint64_t began = Residency::NowNs();
  std::unique_lock<std::mutex> lock(residency_->mutex_);
  residency_->changed_.wait_for(lock, std::chrono::microseconds(most_us),
                                [&] { return residency_->version_ != seen_; });
  residency_->counts_.stall_ns += Residency::NowNs() - began;
}

void ExpertLease::Close() {
  if (residency_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(residency_->mutex_);
    for (const Entry& entry : entries_) {
      if (entry.stage == Stage::kPinned || entry.stage == Stage::kTaken) {
        residency_->Unpin(entry.slot);
      }
    }
    SetStarved(false);
  }
  entries_.clear();
  residency_ = nullptr;
}

}  // namespace krafla

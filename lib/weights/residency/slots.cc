// What happens to slots; everything here runs under the mutex but OnBlock, which takes it. A slot
// goes free -> reading -> ready -> free; one whose reading failed is free once nobody waits for it.
#include <algorithm>
#include <new>
#include <utility>

#include "lib/weights/residency/block_requests.h"
#include "lib/weights/residency/residency.h"

namespace krafla {
namespace {

constexpr uint32_t kPassesPerLook = 32;  // between two looks at what is hot
constexpr size_t kSpareShare = 8;        // of a layer's slots, that it may take beyond its own

uint64_t TagOf(int32_t slot, uint32_t generation) {
  return uint64_t{generation} << 32 | static_cast<uint32_t>(slot);
}

}  // namespace

void Residency::Changed() {
  ++version_;
  changed_.notify_all();
}

// *hit: it was there. kNoSlot: no slot is free for it.
int32_t Residency::Pin(size_t layer, uint32_t expert, bool* hit) {
  int32_t id = layers_[layer].slot_of[expert];
  if (id == kNoSlot) {
    id = TakeSlot(layer, From::kAny);
    if (id == kNoSlot) return kNoSlot;
    StartRead(id, layer, expert, true);
  }
  Slot& slot = all_slots_[static_cast<size_t>(id)];
  *hit = slot.state == State::kReady;
  if (!*hit && slot.pins == 0) reader_->Hurry(TagOf(id, slot.generation));
  ++slot.pins;
  slot.used = ++tick_;
  return id;
}

void Residency::Unpin(int32_t id) {
  Slot& slot = all_slots_[static_cast<size_t>(id)];
  if (--slot.pins > 0) return;
  if (slot.state == State::kFailed) {
    Free(id);
  } else if (slot.state == State::kReady &&
             !pieces_[slab_.piece_of(static_cast<size_t>(id))].active) {
    Evict(id);
  }
  Changed();
}

// Without memory (std::bad_alloc) the slot is free again.
void Residency::StartRead(int32_t id, size_t layer, uint32_t expert, bool urgent) {
  Slot& slot = all_slots_[static_cast<size_t>(id)];
  const ExpertLayer& place = layout_.layers[layer];
  try {
    reader_->Read({place.offset_of(expert), slab_.slot(static_cast<size_t>(id)), place.bytes,
                   TagOf(id, slot.generation), urgent});
  } catch (...) {
    free_.push_back(id);  // there is room: it was taken from there
    throw;
  }
  slot.state = State::kReading;
  slot.layer = static_cast<uint32_t>(layer);
  slot.expert = expert;
  slot.pins = 0;
  slot.used = ++tick_;
  slot.error = OkStatus();
  untouched_ -= !std::exchange(slot.touched, true);
  layers_[layer].slot_of[expert] = id;
  ++layers_[layer].held;
  ++pieces_[slab_.piece_of(static_cast<size_t>(id))].held;
  if (reading_++ == 0) reading_since_ = NowNs();
}

Status Residency::Describe(const Slot& slot, const Status& status) const {
  const ExpertLayer& layer = layout_.layers[slot.layer];
  const std::string which = layout_.whole_layers ? "" : FormatText("expert {} of ", slot.expert);
  return Status(status.code(),
                FormatText("{}: {}: {}{} bytes at {}: {}", name_, layer.name, which, layer.bytes,
                           layer.offset_of(slot.expert), Message(status)));
}

void Residency::OnBlock(uint64_t tag, const Status& read) {
  const auto id = static_cast<int32_t>(tag & 0xFFFFFFFFu);
  Status status = read;
  // Bytes that were written meanwhile may be of the old and of the new file.
  if (const FileStamp now = file_->Stamp();
      status.ok() && (now.bytes != stamp_.bytes || now.modified_ns != stamp_.modified_ns)) {
    status = ErrorOf([] { return FileError("the file was changed while it was open"); });
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (--reading_ == 0) counts_.read_ns += NowNs() - reading_since_;
  Slot& slot = all_slots_[static_cast<size_t>(id)];
  if (slot.state != State::kReading || slot.generation != static_cast<uint32_t>(tag >> 32)) return;
  if (status.ok()) {
    counts_.bytes_read += layout_.layers[slot.layer].bytes;
    slot.state = State::kReady;
    const bool active = pieces_[slab_.piece_of(static_cast<size_t>(id))].active;
    if (slot.pins == 0 && !active) Evict(id);
  } else {
    ++counts_.errors;
    slot.error = ErrorOf([&] { return Describe(slot, status); });
    slot.state = State::kFailed;
    // Whoever wants it next tries again.
    layers_[slot.layer].slot_of[slot.expert] = kNoSlot;
    if (slot.pins == 0) Free(id);
  }
  try {
    ReadExpected();
  } catch (const std::bad_alloc&) {
    // What is not read ahead is read when it is wanted.
  }
  Changed();
}

void Residency::Evict(int32_t id) {
  const Slot& slot = all_slots_[static_cast<size_t>(id)];
  layers_[slot.layer].slot_of[slot.expert] = kNoSlot;
  ++counts_.evictions;
  Free(id);
}

void Residency::Free(int32_t id) {
  Slot& slot = all_slots_[static_cast<size_t>(id)];
  const size_t piece = slab_.piece_of(static_cast<size_t>(id));
  --layers_[slot.layer].held;
  --pieces_[piece].held;
  slot.state = State::kFree;
  ++slot.generation;
  if (pieces_[piece].active) {
    free_.push_back(id);
  } else if (pieces_[piece].held == 0) {
    slab_.Drop(piece);
  }
}

// The least recently used one that nobody holds; of the hot ones where there is no other.
int32_t Residency::VictimOf(size_t layer, bool hot_too) const {
  const Layer& from = layers_[layer];
  int32_t best[2] = {kNoSlot, kNoSlot};  // cold, hot
  for (uint32_t expert = 0; expert < from.slot_of.size(); ++expert) {
    const int32_t id = from.slot_of[expert];
    if (id == kNoSlot) continue;
    const Slot& slot = all_slots_[static_cast<size_t>(id)];
    if (slot.state != State::kReady || slot.pins > 0) continue;
    int32_t& oldest = best[heat_.at(layer, expert) >= from.hot ? 1 : 0];
    if (oldest == kNoSlot || slot.used < all_slots_[static_cast<size_t>(oldest)].used) oldest = id;
  }
  return best[0] != kNoSlot || !hot_too ? best[0] : best[1];
}

size_t Residency::MostOf() const { return quota() + std::max<size_t>(quota() / kSpareShare, 1); }

int32_t Residency::TakeFree() {
  const int32_t id = free_.back();
  free_.pop_back();
  return id;
}

int32_t Residency::TakeSlot(size_t layer, From from) {
  if (!free_.empty()) return TakeFree();
  const auto evict = [&](size_t other, bool hot_too) {
    const int32_t victim = VictimOf(other, hot_too);
    if (victim == kNoSlot) return false;
    Evict(victim);
    return true;
  };
  const size_t share = std::max<size_t>(quota(), 1);
  const size_t n = layers_.size();
  // From the layer that has most beyond its share, then the layer's own, then, for a pass that
  // wants more than its layer has, from those that it will come to last.
  size_t most = layer;
  for (size_t i = 0; i < n; ++i) {
    if (i != layer && layers_[i].held > share &&
        (most == layer || layers_[i].held > layers_[most].held)) {
      most = i;
    }
  }
  if (most != layer && evict(most, true)) return TakeFree();
  if (from == From::kAny && evict(layer, true)) return TakeFree();
  if (layers_[layer].held >= MostOf()) return kNoSlot;
  for (size_t i = 1; i < n; ++i) {
    if (evict((layer + n - i) % n, false)) return TakeFree();
  }
  return kNoSlot;
}

// Reads what a layer has not, hottest first, into slots that are nobody's: while the layers before
// it are computed.
void Residency::Prefetch(size_t layer) {
  const Layer& to = layers_[layer];
  const size_t room = MostOf();
  if (to.held >= room || to.held == to.slot_of.size()) return;
  std::vector<uint32_t> absent;
  for (uint32_t expert = 0; expert < to.slot_of.size(); ++expert) {
    if (to.slot_of[expert] == kNoSlot) absent.push_back(expert);
  }
  const size_t n = std::min(absent.size(), room - to.held);
  std::partial_sort(absent.begin(), absent.begin() + static_cast<ptrdiff_t>(n), absent.end(),
                    [&](uint32_t a, uint32_t b) {
                      const uint32_t of_a = heat_.at(layer, a);
                      const uint32_t of_b = heat_.at(layer, b);
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  for (size_t i = 0; i < n; ++i) {
    const int32_t id = TakeSlot(layer, From::kSpare);
    if (id == kNoSlot) return;
    StartRead(id, layer, absent[i], false);
    ++counts_.prefetched;
  }
}

// Of whole layers, which come in turn: the next one that is not there, in the place of one that
// will be wanted later than that. One at a time, so that none comes late because of another; none
// where another pass waits for a slot, which it might never get.
void Residency::PrefetchAhead(size_t layer) {
  const size_t n = layers_.size();
  const auto slot_at = [&](size_t ahead) { return layers_[(layer + ahead) % n].slot_of[0]; };
  size_t wanted = 1;
  while (wanted < n && slot_at(wanted) != kNoSlot) ++wanted;
  if (reading_ > 0 || starved_ > 0 || wanted >= n) return;
  for (size_t last = n - 1; free_.empty() && last > wanted; --last) {
    if (const int32_t id = VictimOf((layer + last) % n, true); id != kNoSlot) Evict(id);
  }
  if (free_.empty()) return;
  StartRead(TakeFree(), (layer + wanted) % n, 0, false);
  ++counts_.prefetched;
}

bool Residency::expects(size_t layer) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return read_ahead_.active() && layers_[layer].held < layers_[layer].slot_of.size();
}

void Residency::Expect(size_t layer, std::span<const uint32_t> experts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Layer& to = layers_[layer];
  to.expected.clear();
  for (const uint32_t expert : experts) {
    const int32_t id = to.slot_of[expert];
    if (id == kNoSlot) {
      to.expected.push_back(expert);
    } else {
      all_slots_[static_cast<size_t>(id)].used = ++tick_;  // not to leave for one of the others
    }
  }
  expecting_ = layer;
  ReadExpected();
}

void Residency::ReadExpected() {
  if (reading_ > 0 || starved_ > 0) return;
  for (const uint32_t expert : layers_[expecting_].expected) {
    if (layers_[expecting_].slot_of[expert] != kNoSlot) continue;
    if (free_.empty()) {
      const int32_t victim = VictimOf(expecting_, false);
      if (victim == kNoSlot) return;
      Evict(victim);
    }
    if (free_.empty()) return;
    StartRead(TakeFree(), expecting_, expert, false);
    ++counts_.prefetched;
  }
}

void Residency::NoteExpected(size_t layer, std::span<const ExpertUse> uses) {
  std::vector<uint32_t>& expected = layers_[layer].expected;
  uint64_t right = 0;
  for (const ExpertUse& use : uses) {
    right += std::find(expected.begin(), expected.end(), use.expert) != expected.end();
  }
  counts_.expected += expected.size();
  counts_.right += right;
  read_ahead_.Note(expected.size(), right, NowNs(), counts_.read_ns);
  expected.clear();
}

void Residency::NotePass(size_t layer) {
  if (layers_[layer].passes++ % kPassesPerLook != 0) return;
  layers_[layer].hot = heat_.ThresholdOf(layer, quota() / 2);
}

// The piece whose last use is longest ago.
size_t Residency::ColdestPiece() const {
  size_t coldest = pieces_.size();
  uint64_t oldest = UINT64_MAX;
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    if (!pieces_[piece].active) continue;
    uint64_t used = 0;
    const size_t first = piece * slab_.shape().piece_slots;
    for (size_t i = first; i < first + slab_.shape().slots_of(piece); ++i) {
      const Slot& slot = all_slots_[i];
      if (slot.state == State::kFree) continue;
      const bool hot = heat_.at(slot.layer, slot.expert) >= layers_[slot.layer].hot;
      used = std::max(used, slot.used + (hot ? tick_ : 0));
    }
    if (used < oldest) {
      oldest = used;
      coldest = piece;
    }
  }
  return coldest;
}

// Its memory goes back once nobody reads or fills a slot of it.
bool Residency::ShrinkOnce(uint64_t bytes) {
  if (active_bytes_ <= bytes) return false;
  const size_t piece = ColdestPiece();
  const size_t n = piece < pieces_.size() ? slab_.shape().slots_of(piece) : 0;
  if (n == 0 || slots_ < floor_slots_ + n) return false;
  pieces_[piece].active = false;
  slots_ -= n;
  active_bytes_ -= slab_.shape().bytes_of(piece);
  std::erase_if(free_,
                [&](int32_t id) { return slab_.piece_of(static_cast<size_t>(id)) == piece; });
  const size_t first = piece * slab_.shape().piece_slots;
  for (size_t i = first; i < first + n; ++i) {
    Slot& slot = all_slots_[i];
    untouched_ -= !std::exchange(slot.touched, true);
    if (slot.state == State::kReady && slot.pins == 0) Evict(static_cast<int32_t>(i));
  }
  if (pieces_[piece].held == 0 && slab_.has(piece)) slab_.Drop(piece);
  return true;
}

bool Residency::GrowOnce(uint64_t bytes) {
  for (size_t piece = 0; piece < pieces_.size(); ++piece) {
    if (pieces_[piece].active || slab_.has(piece)) continue;
    const uint64_t more = slab_.shape().bytes_of(piece);
    if (active_bytes_ + more > bytes) continue;
    refusal_ = slab_.Add(piece);
    if (!refusal_.ok()) return false;
    pieces_[piece].active = true;
    active_bytes_ += more;
    const size_t n = slab_.shape().slots_of(piece);
    slots_ += n;
    untouched_ += n;
    for (size_t i = 0; i < n; ++i) {
      const size_t slot = piece * slab_.shape().piece_slots + i;
      all_slots_[slot].touched = false;
      free_.push_back(static_cast<int32_t>(slot));
    }
    Changed();
    return true;
  }
  return false;
}

}  // namespace krafla

// Copies are few (a budget holds some dozens), so lists are walked.
#include "lib/session/snapshots.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace krafla {

Snapshots::Snapshots(Memory* memory, uint64_t state_bytes, uint64_t budget, int64_t spacing)
    : memory_(memory), state_bytes_(state_bytes), budget_(budget), spacing_(spacing) {}

void Snapshots::MakeRoom(uint64_t bytes) {
  while (!entries_.empty() && bytes_ + bytes > budget_) {
    const auto oldest =
        std::min_element(entries_.begin(), entries_.end(),
                         [](const Entry& a, const Entry& b) { return a.used < b.used; });
    bytes_ -= oldest->data->size();
    entries_.erase(oldest);
  }
}

void Snapshots::Keep(int64_t length, const std::byte* state, std::span<const float> logits,
                     bool spaced) {
  const uint64_t bytes = state_bytes_ + logits.size_bytes();
  if (state_bytes_ == 0 || length == 0 || bytes > budget_) return;
  auto next = std::upper_bound(entries_.begin(), entries_.end(), length,
                               [](int64_t n, const Entry& entry) { return n < entry.length; });
  if (next != entries_.begin()) {
    Entry& before = *std::prev(next);
    if (before.length == length && before.n_logits >= logits.size()) {
      before.used = ++clock_;
      return;
    }
    if (spaced && length - before.length < spacing_) return;
  } else if (spaced && length < spacing_) {
    return;
  }
  try {
    MakeRoom(bytes);
    StatusOr<Buffer> buffer = memory_->Allocate(bytes, MemoryKind::kSnapshot, "a snapshot");
    if (!buffer.ok()) return;
    std::memcpy(buffer->data(), state, state_bytes_);
    if (!logits.empty()) {
      std::memcpy(buffer->data() + state_bytes_, logits.data(), logits.size_bytes());
    }
    entries_.reserve(entries_.size() + 1);
    Entry entry{length, ++clock_, logits.size(),
                std::make_shared<const Buffer>(*std::move(buffer))};
    bytes_ += bytes;
    next = std::lower_bound(entries_.begin(), entries_.end(), length,
                            [](const Entry& e, int64_t n) { return e.length < n; });
    if (next != entries_.end() && next->length == length) {
      bytes_ -= next->data->size();
      *next = std::move(entry);
    } else {
      entries_.insert(next, std::move(entry));
    }
  } catch (const std::bad_alloc&) {
    // Without it a later cut reads more tokens again.
  }
}

Snapshots::Copy Snapshots::Use(Entry& entry) {
  entry.used = ++clock_;
  const std::byte* data = entry.data->data();
  return {entry.length,
          {data, static_cast<size_t>(state_bytes_)},
          {reinterpret_cast<const float*>(data + state_bytes_), entry.n_logits}};
}

Snapshots::Copy Snapshots::Before(int64_t length) {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->length <= length) return Use(*entry);
  }
  return {};
}

Snapshots::Copy Snapshots::At(int64_t length) {
  for (Entry& entry : entries_) {
    if (entry.length == length && entry.n_logits > 0) return Use(entry);
  }
  return {};
}

void Snapshots::Cut(int64_t length) {
  while (!entries_.empty() && entries_.back().length > length) {
    bytes_ -= entries_.back().data->size();
    entries_.pop_back();
  }
}

}  // namespace krafla

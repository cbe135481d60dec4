// Entries are few (each has a row of logits at least), so they are walked.
#include "lib/batch/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace krafla {

size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(n), b.begin()).first - a.begin());
}

PrefixCache::Found PrefixCache::Find(std::span<const int32_t> ids) {
  Found found;
  Entry* best = nullptr;
  for (Entry& entry : entries_) {
    const size_t common = CommonPrefix(entry.session->ids(), ids);
    if (common <= found.common) continue;
    found = {entry.session.get(), common};
    best = &entry;
  }
  if (best != nullptr) best->used = ++clock_;
  return found;
}

void PrefixCache::Erase(size_t i) {
  bytes_ -= entries_[i].bytes;
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
}

void PrefixCache::Keep(std::shared_ptr<Session> session) {
  const uint64_t bytes = session->held_bytes();
  if (bytes > budget_ || session->length() == 0) return;
  entries_.reserve(entries_.size() + 1);
  const std::span<const int32_t> ids = session->ids();
  for (size_t i = entries_.size(); i-- > 0;) {
    const std::span<const int32_t> other = entries_[i].session->ids();
    if (CommonPrefix(other, ids) == other.size()) Erase(i);
  }
  while (bytes_ + bytes > budget_) EvictOne();
  entries_.push_back({std::move(session), bytes, ++clock_});
  bytes_ += bytes;
}

bool PrefixCache::EvictOne() {
  if (entries_.empty()) return false;
  const auto oldest =
      std::min_element(entries_.begin(), entries_.end(),
                       [](const Entry& a, const Entry& b) { return a.used < b.used; });
  Erase(static_cast<size_t>(oldest - entries_.begin()));
  return true;
}

}  // namespace krafla

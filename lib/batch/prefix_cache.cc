// Entries are few (each has a row of logits at least), so they are walked.
#include "lib/batch/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace krafla {

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

std::shared_ptr<Session> PrefixCache::Take(size_t i) {
  std::shared_ptr<Session> session = std::move(entries_[i].session);
  bytes_ -= entries_[i].bytes;
  entries_.erase(entries_.begin() + static_cast<ptrdiff_t>(i));
  return session;
}

void PrefixCache::Keep(std::shared_ptr<Session> session) {
  if (session->length() == 0) return;
  const uint64_t bytes = session->held_bytes();
  if (bytes > budget_) {
    if (evicted_) evicted_(std::move(session));
    return;
  }
  entries_.reserve(entries_.size() + 1);
  const std::span<const int32_t> ids = session->ids();
  for (size_t i = entries_.size(); i-- > 0;) {
    const std::span<const int32_t> other = entries_[i].session->ids();
    if (CommonPrefix(other, ids) == other.size()) Take(i);
  }
  while (bytes_ + bytes > budget_) {
    std::shared_ptr<Session> oldest = Take(OldestOf(entries_));
    if (evicted_) evicted_(std::move(oldest));
  }
  entries_.push_back({std::move(session), bytes, ++clock_});
  bytes_ += bytes;
}

bool PrefixCache::DropOne() {
  if (entries_.empty()) return false;
  Take(OldestOf(entries_));
  return true;
}

void PrefixCache::Clear(const Evicted& each) {
  while (!entries_.empty()) each(Take(OldestOf(entries_)));
}

}  // namespace krafla

// Sessions of replies that have ended, kept within a byte budget: a new request branches off the
// one that shares most of its text. They share pages with each other, yet each counts with all of
// its own, so the budget holds however they came about. The one that was not used for longest goes
// first.
#ifndef KRAFLA_LIB_BATCH_PREFIX_CACHE_H_
#define KRAFLA_LIB_BATCH_PREFIX_CACHE_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "lib/session/common_prefix.h"
#include "lib/session/session.h"

namespace krafla {

// Of entries with a time of last use, at least one: the index of the one unused for longest.
template <typename Entry>
size_t OldestOf(const std::vector<Entry>& entries) {
  const auto oldest =
      std::min_element(entries.begin(), entries.end(),
                       [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return static_cast<size_t>(oldest - entries.begin());
}

class PrefixCache {
 public:
  // evicted (may be empty): given those that the budget has no room for.
  using Evicted = std::function<void(std::shared_ptr<Session>)>;
  PrefixCache(uint64_t budget, Evicted evicted) : budget_(budget), evicted_(std::move(evicted)) {}

  // The session with the longest common beginning, and its length; null where none has any.
  struct Found {
    Session* session = nullptr;
    size_t common = 0;
  };
  Found Find(std::span<const int32_t> ids);
  // Those whose text is a beginning of this one's go: it serves for them too.
  void Keep(std::shared_ptr<Session> session);
  bool DropOne();                   // where memory is needed; false: there is none
  void Clear(const Evicted& each);  // given all of them, oldest first

  uint64_t bytes() const { return bytes_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<Session> session;
    uint64_t bytes = 0;
    uint64_t used = 0;
  };
  std::shared_ptr<Session> Take(size_t i);

  uint64_t budget_;
  Evicted evicted_;
  uint64_t bytes_ = 0;
  uint64_t clock_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_PREFIX_CACHE_H_

// Configurations: made, found again, stepped from.
#include "lib/constraint/walker.h"

#include <algorithm>
#include <utility>

#include "lib/constraint/hash.h"

namespace krafla {

Walker::Walker(const Automaton* automaton, const Vocabulary* vocabulary)
    : automaton_(*automaton),
      vocabulary_(vocabulary),
      n_classes_(automaton->n_classes()),
      configs_(1),
      table_(n_classes_, kDead),
      slots_(64, 0),
      seen_(256),
      stamps_(256, 0) {}

size_t Walker::bytes() const {
  return frames_.bytes() + configs_.size() * sizeof(Config) + threads_.size() * sizeof(Thread) +
         table_.size() * sizeof(ConfigId) + slots_.size() * 4 +
         (masks_.empty() ? 0 : masks_.size() * masks_[0].size() * 4);
}

ConfigId Walker::Start() {
  Clear();
  Add(automaton_.start(automaton_.root()), Frames::kBottom);
  Close();
  return Intern();
}

ConfigId Walker::Compute(ConfigId config, uint32_t cls) {
  const uint8_t byte = automaton_.byte_of_class(cls);
  Clear();
  const Config& from = configs_[config];
  for (uint32_t i = 0; i < from.n_threads; ++i) {
    const Thread thread = threads_[from.first_thread + i];
    for (const ByteEdge& edge : automaton_.edges(thread.node)) {
      if (byte >= edge.first && byte <= edge.last) Add(edge.to, thread.stack);
    }
  }
  Close();
  const ConfigId next = Intern();
  if (next != kTooLarge) table_[size_t{config} * n_classes_ + cls] = next;
  return next;
}

// The configuration of what Close found.
ConfigId Walker::Intern() {
  if (too_large_ || bytes() > kMaxBytes) return kTooLarge;
  if (found_.empty() && !complete_) return kDead;
  std::sort(found_.begin(), found_.end(), [](const Thread& a, const Thread& b) {
    return a.node != b.node ? a.node < b.node : a.stack < b.stack;
  });
  uint64_t hash = complete_ ? 1 : 0;
  for (const Thread& t : found_) hash = AddToHash(AddToHash(hash, t.node), t.stack);
  if (configs_.size() * 2 > slots_.size()) {
    std::vector<uint32_t> larger(slots_.size() * 2, 0);
    for (uint32_t i = 1; i < configs_.size(); ++i) {
      uint64_t h = configs_[i].complete ? 1 : 0;
      for (uint32_t k = 0; k < configs_[i].n_threads; ++k) {
        const Thread& t = threads_[configs_[i].first_thread + k];
        h = AddToHash(AddToHash(h, t.node), t.stack);
      }
      size_t slot = h & (larger.size() - 1);
      while (larger[slot] != 0) slot = (slot + 1) & (larger.size() - 1);
      larger[slot] = i;
    }
    slots_.swap(larger);
  }
  size_t slot = hash & (slots_.size() - 1);
  for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    const Config& known = configs_[slots_[slot]];
    if (known.complete == complete_ && known.n_threads == found_.size() &&
        std::equal(found_.begin(), found_.end(), threads_.begin() + known.first_thread)) {
      return slots_[slot];
    }
  }
  // What may fail comes first; a failure leaves threads or a row behind that nothing refers to.
  Config config;
  config.first_thread = static_cast<uint32_t>(threads_.size());
  config.n_threads = static_cast<uint32_t>(found_.size());
  config.complete = complete_;
  threads_.insert(threads_.end(), found_.begin(), found_.end());
  table_.resize((configs_.size() + 1) * n_classes_, kUnknown);
  configs_.push_back(config);
  slots_[slot] = static_cast<uint32_t>(configs_.size() - 1);
  return slots_[slot];
}

ConfigId Walker::Import(const Walker& from, ConfigId config) {
  if (config == kDead) return kDead;
  Clear();
  const Config& old = from.configs_[config];
  complete_ = old.complete;
  std::vector<uint32_t> path;
  for (uint32_t i = 0; i < old.n_threads; ++i) {
    const Thread& thread = from.threads_[old.first_thread + i];
    path.clear();
    for (uint32_t s = thread.stack; s != Frames::kBottom; s = from.frames_[s].below)
      path.push_back(s);
    uint32_t stack = Frames::kBottom;
    for (size_t k = path.size(); k-- > 0;) {
      const Frame& frame = from.frames_[path[k]];
      const bool members = automaton_.call(frame.site).kind == CallSite::kMembers;
      const uint32_t data = members ? frames_.AddSeen(from.frames_.seen(frame.data)) : frame.data;
      stack = frames_.Push(stack, frame.site, data);
    }
    found_.push_back({thread.node, stack});
  }
  return Intern();
}

int Walker::ForcedByte(ConfigId config) {
  if (configs_[config].forced != -3) return configs_[config].forced;
  int forced = -1;
  if (!complete(config)) {
    uint32_t live = 0;
    for (uint32_t cls = 0; cls < n_classes_ && live < 2; ++cls) {
      const ConfigId next = Next(config, automaton_.byte_of_class(cls));
      if (next == kTooLarge) return -2;
      if (next == kDead) continue;
      live += automaton_.class_size(cls);
      forced = automaton_.byte_of_class(cls);
    }
    if (live != 1) forced = -1;
  }
  configs_[config].forced = static_cast<int16_t>(forced);
  return forced;
}

}  // namespace krafla

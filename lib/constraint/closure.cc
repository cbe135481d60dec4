// What a set of threads comes to without a byte: empty edges, calls and returns, until only threads
// that wait for a byte are left. A thread that could not reach its end within the stack's limit is
// dropped, so that no text is led where it cannot be finished.
#include <algorithm>
#include <utility>

#include "lib/constraint/hash.h"
#include "lib/constraint/walker.h"

namespace krafla {
namespace {

constexpr size_t kMaxSeen = 20000;  // threads of one closure

bool HasBit(const std::vector<uint32_t>& bits, size_t i) {
  return (bits[i / 32] >> (i % 32) & 1) != 0;
}

}  // namespace

void Walker::Clear() {
  work_.clear();
  found_.clear();
  complete_ = too_large_ = false;
  n_seen_ = 0;
  ++stamp_;
}

// Notes a thread that was not met before in this closure.
void Walker::Add(uint32_t node, uint32_t stack) {
  const uint16_t need = automaton_.need(node);
  if (need == kDeadEnd || frames_.Depth(stack) + need > kMaxStack) return;
  if (n_seen_ * 2 > seen_.size()) GrowSeen();
  const size_t mask = seen_.size() - 1;
  size_t slot = MixHash({node, stack}) & mask;
  for (; stamps_[slot] == stamp_; slot = (slot + 1) & mask) {
    if (seen_[slot] == Thread{node, stack}) return;
  }
  work_.push_back({node, stack});
  seen_[slot] = {node, stack};
  stamps_[slot] = stamp_;
  if (++n_seen_ > kMaxSeen) too_large_ = true;
}

void Walker::GrowSeen() {
  std::vector<Thread> larger(seen_.size() * 2);
  std::vector<uint32_t> stamps(larger.size(), 0);
  const size_t mask = larger.size() - 1;
  for (size_t i = 0; i < seen_.size(); ++i) {
    if (stamps_[i] != stamp_) continue;
    size_t slot = MixHash({seen_[i].node, seen_[i].stack}) & mask;
    while (stamps[slot] == 1) slot = (slot + 1) & mask;
    larger[slot] = seen_[i];
    stamps[slot] = 1;
  }
  seen_.swap(larger);
  stamps_.swap(stamps);
  stamp_ = 1;
}

void Walker::Close() {
  while (!work_.empty() && !too_large_) {
    const Thread thread = work_.back();
    work_.pop_back();
    for (uint32_t to : automaton_.empty_edges(thread.node)) Add(to, thread.stack);
    if (!automaton_.edges(thread.node).empty()) found_.push_back(thread);
    if (automaton_.site(thread.node) != kNoSite) Enter(automaton_.site(thread.node), thread.stack);
    if (automaton_.ends(thread.node)) Return(thread.stack);
  }
}

bool Walker::Fits(RuleId rule, uint32_t below) const {
  const uint16_t need = automaton_.need_of_rule(rule);
  return need != kDeadEnd && frames_.Depth(below) + 1 + need <= kMaxStack;
}

void Walker::PushAndAdd(uint32_t below, uint32_t site, uint32_t data, RuleId rule) {
  if (Fits(rule, below)) Add(automaton_.start(rule), frames_.Push(below, site, data));
}

void Walker::Enter(uint32_t s, uint32_t stack) {
  const CallSite& site = automaton_.call(s);
  // What is behind the call must be possible as well.
  const uint16_t behind = automaton_.need(site.back);
  if (behind == kDeadEnd || frames_.Depth(stack) + behind > kMaxStack) return;
  if (site.kind == CallSite::kMembers) {
    const Members& members = automaton_.members(site.rule);
    SeenMembers none;
    none.items.assign(members.ordered ? 1 : (members.items.size() + 31) / 32, 0);
    if (MayEnd(members, none)) Add(site.back, stack);
    OfferMembers(s, stack, none, true);
    return;
  }
  if (site.kind == CallSite::kRepeat && site.min == 0) Add(site.back, stack);
  if (site.kind == CallSite::kCall && site.last) {
    Add(automaton_.start(site.rule), stack);
  } else {
    PushAndAdd(stack, s, site.kind == CallSite::kRepeat ? 1 : 0, site.rule);
  }
}

void Walker::Return(uint32_t stack) {
  if (stack == Frames::kBottom) {
    complete_ = true;
    return;
  }
  const Frame frame = frames_[stack];
  const CallSite& site = automaton_.call(frame.site);
  if (site.kind == CallSite::kCall) {
    Add(site.back, frame.below);
    return;
  }
  if (site.kind == CallSite::kRepeat) {
    const uint32_t turns = frame.data;
    if (turns >= site.min) Add(site.back, frame.below);
    if (turns >= site.max) return;
    // Without an upper bound only the lower one has to be counted up to.
    const bool counted = site.max != kUnbounded || turns < site.min;
    PushAndAdd(frame.below, frame.site, counted ? turns + 1 : turns, site.rule);
    return;
  }
  const Members& members = automaton_.members(site.rule);
  SeenMembers seen = frames_.seen(frame.data);
  if (seen.after_separator) {
    seen.after_separator = false;
    OfferMembers(frame.site, frame.below, seen, true);
    return;
  }
  if (MayEnd(members, seen)) Add(site.back, frame.below);
  // A separator only where a member can follow.
  if (!OfferMembers(frame.site, frame.below, seen, false)) return;
  seen.after_separator = true;
  PushAndAdd(frame.below, frame.site, frames_.AddSeen(std::move(seen)), members.separator);
}

// Whether a text may end its members here.
bool Walker::MayEnd(const Members& members, const SeenMembers& seen) const {
  if (seen.count < members.min) return false;
  for (size_t i = members.ordered ? seen.items[0] : 0; i < members.items.size(); ++i) {
    if (members.items[i].required && (members.ordered || !HasBit(seen.items, i))) return false;
  }
  return true;
}

// Whether what is still allowed is enough for what is still required.
bool Walker::CanEnd(const Members& members, const SeenMembers& seen, uint32_t below) const {
  uint32_t required = 0, possible = 0;
  for (size_t i = members.ordered ? seen.items[0] : 0; i < members.items.size(); ++i) {
    if (!members.ordered && HasBit(seen.items, i)) continue;
    if (members.items[i].required) ++required;
    if (Fits(members.items[i].rule, below)) ++possible;
  }
  if (seen.count + required > members.max) return false;
  return (members.has_rest && Fits(members.rest, below)) || seen.count + possible >= members.min;
}

// Adds the threads of the members that may come next, where `add` says so; whether there are any.
bool Walker::OfferMembers(uint32_t s, uint32_t below, const SeenMembers& seen, bool add) {
  const Members& members = automaton_.members(automaton_.call(s).rule);
  if (seen.count >= members.max) return false;
  const size_t n = members.items.size();
  bool rest = members.has_rest, any = false;
  for (size_t i = members.ordered ? seen.items[0] : 0; i < n && (add || !any); ++i) {
    if (!members.ordered && HasBit(seen.items, i)) continue;
    any |= OfferMember(s, below, seen, i, add);
    if (members.ordered && members.items[i].required) {
      rest = false;  // nothing behind it before it
      break;
    }
  }
  return (rest && OfferMember(s, below, seen, n, add)) || any;
}

// item: the number of all of them stands for the rest.
bool Walker::OfferMember(uint32_t s, uint32_t below, const SeenMembers& seen, size_t item,
                         bool add) {
  const Members& members = automaton_.members(automaton_.call(s).rule);
  const bool rest = item == members.items.size();
  const RuleId rule = rest ? members.rest : members.items[item].rule;
  if (!Fits(rule, below)) return false;
  SeenMembers next = seen;
  // Numbers that no bound depends on are not counted, so that the same place is the same again.
  if (members.max != kUnbounded || next.count < members.min) ++next.count;
  if (members.ordered) {
    next.items[0] = static_cast<uint32_t>(rest ? item : item + 1);
  } else if (!rest) {
    next.items[item / 32] |= 1u << (item % 32);
  }
  if (!CanEnd(members, next, below)) return false;
  if (add) Add(automaton_.start(rule), frames_.Push(below, s, frames_.AddSeen(std::move(next))));
  return true;
}

}  // namespace krafla

// The one automaton that every front end compiles to: over bytes, nondeterministic, with calls of
// rules that a stack returns from. A node has edges over bytes, edges over nothing, and at most one
// call site; each rule has its start node, and nodes at which it ends. Counted repetitions and the
// members of an object keep a number in their stack frame, so neither large counts nor free orders
// multiply nodes. Immutable once built.
#ifndef KRAFLA_LIB_CONSTRAINT_AUTOMATON_H_
#define KRAFLA_LIB_CONSTRAINT_AUTOMATON_H_

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/grammar.h"

namespace krafla {

inline constexpr uint32_t kNoSite = 0xFFFFFFFF;
// Frames of a stack: arrays, objects and rules in one another, but for a rule that nothing follows
// in the one that calls it. A text is never led to where it would need more.
inline constexpr uint16_t kMaxStack = 400;
inline constexpr uint16_t kDeadEnd = 0xFFFF;

struct ByteEdge {
  uint8_t first, last;
  uint32_t to;
};

struct CallSite {
  enum Kind : uint8_t { kCall, kRepeat, kMembers };
  Kind kind = kCall;
  uint32_t rule = 0;  // kMembers: the index in Automaton::members
  uint32_t back = 0;  // the node behind the call
  uint32_t min = 0, max = 0;
  bool last = false;  // nothing but the rule's end is behind it: kCall needs no frame
};

class Automaton {
 public:
  // ArgumentError: a rule that calls itself without a byte before (left recursion), or no text at
  // all fits; UnsupportedError: too large, or each text that fits needs more than kMaxStack frames.
  static constexpr uint32_t kMaxNodes = 600'000;
  static StatusOr<Automaton> Build(const Grammar& grammar, uint32_t max_nodes = kMaxNodes);

  std::span<const ByteEdge> edges(uint32_t node) const {
    return {edges_.data() + edge_begin_[node], edges_.data() + edge_begin_[node + 1]};
  }
  std::span<const uint32_t> empty_edges(uint32_t node) const {
    return {empty_.data() + empty_begin_[node], empty_.data() + empty_begin_[node + 1]};
  }
  uint32_t site(uint32_t node) const { return site_of_[node]; }
  const CallSite& call(uint32_t site) const { return sites_[site]; }
  bool ends(uint32_t node) const { return ends_[node] != 0; }
  uint32_t start(RuleId rule) const { return starts_[rule]; }
  RuleId root() const { return root_; }
  const Members& members(uint32_t index) const { return members_[index]; }

  // Frames beyond the present one that the way from here to the end of the rule takes at least;
  // kDeadEnd: there is no way.
  uint16_t need(uint32_t node) const { return need_[node]; }
  uint16_t need_of_rule(RuleId rule) const { return need_[starts_[rule]]; }

  // Bytes that no edge tells apart.
  uint32_t n_classes() const { return n_classes_; }
  uint8_t byte_class(uint8_t byte) const { return byte_classes_[byte]; }
  uint8_t byte_of_class(uint32_t cls) const { return class_bytes_[cls]; }  // one of them

  uint32_t class_size(uint32_t cls) const {
    return (cls + 1 < n_classes_ ? class_bytes_[cls + 1] : 256u) - class_bytes_[cls];
  }

  uint32_t n_nodes() const { return static_cast<uint32_t>(site_of_.size()); }

 private:
  friend class AutomatonBuilder;
  friend class AutomatonChecks;
  Automaton() = default;

  std::vector<ByteEdge> edges_;
  std::vector<uint32_t> empty_;
  std::vector<uint32_t> edge_begin_, empty_begin_;  // [n_nodes + 1]
  std::vector<uint32_t> site_of_;
  std::vector<uint8_t> ends_;
  std::vector<uint16_t> need_;
  std::vector<CallSite> sites_;
  std::vector<Members> members_;
  std::vector<uint32_t> starts_;
  RuleId root_ = 0;
  uint32_t n_classes_ = 0;
  std::array<uint8_t, 256> byte_classes_{};
  std::array<uint8_t, 256> class_bytes_{};
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_AUTOMATON_H_

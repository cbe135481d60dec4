// From a pattern to a deterministic automaton over characters: Thompson's construction, then sets
// of nodes, within a budget of nodes, states and work. ^ can be passed only before the first
// character, and behind $ none can follow.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/constraint/regex.h"

namespace krafla {
namespace {

constexpr size_t kMaxNodes = 40000;
constexpr size_t kMaxWork = 4'000'000;  // entries of all sets of nodes

enum class NodeKind : uint8_t { kAccept, kSplit, kClass, kBegin, kEnd };
struct Node {
  NodeKind kind;
  uint32_t set = 0;
  uint32_t out = 0, out2 = 0;  // kSplit has both
};

class Builder {
 public:
  explicit Builder(const Grammar& grammar) : grammar_(grammar) {}

  // What stands for `expr` with `next` behind it. The depth is that of the groups, which the parser
  // limits.
  StatusOr<uint32_t> Emit(ExprId id, uint32_t next) {
    const Expr& expr = grammar_.exprs[id];
    // Counted by calls, since an empty part adds no node.
    if (++n_emitted_ > kMaxNodes || nodes_.size() > kMaxNodes) {
      return UnsupportedError("regex: needs more than {} nodes: its repetitions multiply",
                              kMaxNodes);
    }
    switch (expr.kind) {
      case ExprKind::kEmpty:
        return next;
      case ExprKind::kClass:
        return Add({NodeKind::kClass, expr.index, next});
      case ExprKind::kBegin:
        return Add({NodeKind::kBegin, 0, next});
      case ExprKind::kEnd:
        return Add({NodeKind::kEnd, 0, next});
      case ExprKind::kSequence:
        for (uint32_t i = expr.n_parts; i-- > 0;) {
          KRAFLA_ASSIGN_OR_RETURN(next, Emit(grammar_.parts[expr.index + i], next));
        }
        return next;
      case ExprKind::kChoice: {
        uint32_t start = 0;
        for (uint32_t i = expr.n_parts; i-- > 0;) {
          KRAFLA_ASSIGN_OR_RETURN(const uint32_t part, Emit(grammar_.parts[expr.index + i], next));
          start = i + 1 == expr.n_parts ? part : Add({NodeKind::kSplit, 0, part, start});
        }
        return start;
      }
      case ExprKind::kRepeat:
        return EmitRepeat(expr, next);
      default:
        return Add({NodeKind::kSplit, 0, dead_, dead_});  // kNothing
    }
  }

  uint32_t Add(Node node) {
    nodes_.push_back(node);
    return static_cast<uint32_t>(nodes_.size() - 1);
  }
  // A node that leads nowhere: a split into itself.
  void AddDead() {
    dead_ = Add({NodeKind::kSplit});
    nodes_[dead_].out = nodes_[dead_].out2 = dead_;
  }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  StatusOr<uint32_t> EmitRepeat(const Expr& expr, uint32_t next) {
    const ExprId part = grammar_.parts[expr.index];
    uint32_t start = next;
    if (expr.max == kUnbounded) {
      start = Add({NodeKind::kSplit, 0, 0, next});
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t body, Emit(part, start));
      nodes_[start].out = body;
    } else {
      for (uint32_t i = expr.min; i < expr.max; ++i) {
        KRAFLA_ASSIGN_OR_RETURN(const uint32_t body, Emit(part, start));
        start = Add({NodeKind::kSplit, 0, body, next});
      }
    }
    for (uint32_t i = 0; i < expr.min; ++i) {
      KRAFLA_ASSIGN_OR_RETURN(start, Emit(part, start));
    }
    return start;
  }

  const Grammar& grammar_;
  std::vector<Node> nodes_;
  uint32_t dead_ = 0;
  size_t n_emitted_ = 0;
};

class Subsets {
 public:
  Subsets(const std::vector<Node>& nodes, std::span<const CodePointSet> sets)
      : nodes_(nodes), seen_(nodes.size(), 0), dfa_(CharClasses::Of(sets)) {
    // Which classes a set of characters is made of.
    const std::vector<CodePointSet> classes = dfa_.classes().Sets();
    for (const CodePointSet& set : sets) {
      std::vector<uint32_t> members;
      for (uint32_t c = 0; c < classes.size(); ++c) {
        if (!classes[c].empty() && !set.Intersect(classes[c]).empty()) members.push_back(c);
      }
      classes_of_.push_back(std::move(members));
    }
  }

  StatusOr<CharDfa> Run(uint32_t start) {
    std::vector<uint32_t> first{start};
    Visit(std::move(first), true);
    for (size_t i = 0; i < states_.size(); ++i) {
      KRAFLA_RETURN_IF_ERROR(dfa_.CheckSize());
      if (work_ > kMaxWork) {
        return UnsupportedError("regex: needs more than {} steps to be made an automaton",
                                kMaxWork);
      }
      std::vector<std::vector<uint32_t>> next(dfa_.classes().n_classes);
      for (uint32_t n : *states_[i]) {
        if (nodes_[n].kind != NodeKind::kClass) continue;
        for (uint32_t c : classes_of_[nodes_[n].set]) next[c].push_back(nodes_[n].out);
        work_ += classes_of_[nodes_[n].set].size();
      }
      for (uint32_t c = 0; c < next.size(); ++c) {
        if (next[c].empty()) continue;
        const uint32_t to = Visit(std::move(next[c]), false);
        dfa_.SetNext(static_cast<uint32_t>(i), c, static_cast<int32_t>(to));
      }
    }
    dfa_.Trim();
    return std::move(dfa_);
  }

 private:
  // All that can be reached without a character, in order; behind $ only where `end` says so.
  std::vector<uint32_t> Close(std::vector<uint32_t> work, bool at_begin, bool end) {
    ++stamp_;
    std::vector<uint32_t> out;
    while (!work.empty()) {
      const uint32_t n = work.back();
      work.pop_back();
      if (std::exchange(seen_[n], stamp_) == stamp_) continue;
      const Node& node = nodes_[n];
      if (node.kind == NodeKind::kSplit) {
        work.push_back(node.out2);
        work.push_back(node.out);
      } else if (node.kind == NodeKind::kBegin) {
        if (at_begin) work.push_back(node.out);
      } else if (node.kind == NodeKind::kEnd && end) {
        work.push_back(node.out);
      } else {
        out.push_back(n);
      }
    }
    work_ += out.size() + 1;
    return out;
  }

  uint32_t Visit(std::vector<uint32_t> from, bool at_begin) {
    std::vector<uint32_t> set = Close(std::move(from), at_begin, false);
    std::sort(set.begin(), set.end());
    const auto [it, added] = known_.try_emplace(std::move(set), dfa_.n_states());
    if (added) {
      states_.push_back(&it->first);
      bool accepting = false;
      for (uint32_t n : Close(it->first, at_begin, true)) {
        accepting |= nodes_[n].kind == NodeKind::kAccept;
      }
      dfa_.AddState(accepting);
    }
    return it->second;
  }

  const std::vector<Node>& nodes_;
  std::vector<uint32_t> seen_;  // by node: the last Close that met it
  uint32_t stamp_ = 0;
  CharDfa dfa_;
  std::vector<std::vector<uint32_t>> classes_of_;
  std::map<std::vector<uint32_t>, uint32_t> known_;
  std::vector<const std::vector<uint32_t>*> states_;
  size_t work_ = 0;
};

}  // namespace

StatusOr<CharDfa> RegexDfa(std::string_view pattern, RegexMatch match) {
  Grammar grammar;
  KRAFLA_ASSIGN_OR_RETURN(ExprId expr, ParseRegex(pattern, &grammar));
  if (match == RegexMatch::kSearch) {
    const ExprId any = grammar.Repeat(grammar.Class(CodePointSet::All()), 0, kUnbounded);
    const ExprId whole[] = {any, expr, any};
    expr = grammar.Sequence(whole);
  }
  Builder builder(grammar);
  const uint32_t accept = builder.Add({NodeKind::kAccept});
  builder.AddDead();
  KRAFLA_ASSIGN_OR_RETURN(const uint32_t start, builder.Emit(expr, accept));
  return Subsets(builder.nodes(), grammar.sets).Run(start);
}

}  // namespace krafla

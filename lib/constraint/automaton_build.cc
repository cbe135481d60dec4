// From a grammar's expressions to nodes and edges. Expressions are walked by recursion; their
// depth is limited here, whatever front end they come from.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/constraint/automaton.h"
#include "lib/constraint/automaton_checks.h"
#include "lib/constraint/character_bytes.h"

namespace krafla {
namespace {

constexpr int kMaxDepth = 600;
// A repetition is written out up to so many nodes, else it is counted in a frame.
constexpr uint64_t kMaxCopiedNodes = 512;

}  // namespace

class AutomatonBuilder final : CharacterBytes::Target {
 public:
  AutomatonBuilder(const Grammar& grammar, uint32_t max_nodes)
      : grammar_(grammar), max_nodes_(max_nodes), bytes_(this) {}

  StatusOr<Automaton> Build() {
    out_.members_ = grammar_.members;
    out_.root_ = grammar_.root;
    Measure();
    for (size_t i = 0; i < grammar_.rules.size(); ++i) out_.starts_.push_back(AddNode());
    for (RuleId rule = 0; rule < grammar_.rules.size(); ++rule) {
      KRAFLA_RETURN_IF_ERROR(BuildRule(out_.starts_[rule], grammar_.rules[rule].body));
    }
    // Parts that are counted in a frame became rules; building them may add more.
    for (size_t i = 0; i < counted_.size(); ++i) {
      const auto [start, body] = counted_[i];
      KRAFLA_RETURN_IF_ERROR(BuildRule(start, body));
    }
    Flatten();
    AutomatonChecks checks(grammar_, &out_);
    KRAFLA_RETURN_IF_ERROR(checks.Run());
    return std::move(out_);
  }

 private:
  struct Edge {
    uint32_t from;
    ByteEdge edge;
  };

  uint32_t AddNode() override {
    out_.site_of_.push_back(kNoSite);
    out_.ends_.push_back(0);
    return out_.n_nodes() - 1;
  }
  void AddEdge(uint32_t from, uint8_t first, uint8_t last, uint32_t to) override {
    edges_.push_back({from, {first, last, to}});
  }
  void AddEmpty(uint32_t from, uint32_t to) { empty_.push_back({from, to}); }

  Status BuildRule(uint32_t start, ExprId body) {
    KRAFLA_ASSIGN_OR_RETURN(const uint32_t end, Emit(body, start, 0));
    out_.ends_[end] = 1;
    return OkStatus();
  }

  Status CheckSize(int depth) const {
    if (out_.n_nodes() + edges_.size() / 2 > max_nodes_) {
      return UnsupportedError("constraint: needs more than {} nodes", max_nodes_);
    }
    if (depth > kMaxDepth) return UnsupportedError("constraint: nested deeper than {}", kMaxDepth);
    return OkStatus();
  }

  // Adds `id` behind node `from`; the node behind it. The nodes that it returns have no edges yet.
  StatusOr<uint32_t> Emit(ExprId id, uint32_t from, int depth) {
    KRAFLA_RETURN_IF_ERROR(CheckSize(depth));
    const Expr& expr = grammar_.exprs[id];
    switch (expr.kind) {
      case ExprKind::kEmpty:
        return from;
      case ExprKind::kBytes:
        for (char c : grammar_.literals[expr.index]) {
          const uint32_t next = AddNode();
          AddEdge(from, static_cast<uint8_t>(c), static_cast<uint8_t>(c), next);
          from = next;
        }
        return from;
      case ExprKind::kClass: {
        const uint32_t to = AddNode();
        bytes_.AddUtf8(grammar_.sets[expr.index], from, to);
        return to;
      }
      case ExprKind::kStrings:
      case ExprKind::kJson:
        return EmitDfa(grammar_.strings[expr.index], expr.kind == ExprKind::kJson, from);
      case ExprKind::kSequence:
        for (uint32_t i = 0; i < expr.n_parts; ++i) {
          KRAFLA_ASSIGN_OR_RETURN(from, Emit(grammar_.parts[expr.index + i], from, depth + 1));
        }
        return from;
      case ExprKind::kChoice:
        return EmitChoice(expr, from, depth);
      case ExprKind::kRepeat:
        return EmitRepeat(expr, from, depth);
      case ExprKind::kRule:
        return EmitSite({CallSite::kCall, expr.index, 0, 1, 1}, from);
      case ExprKind::kMembers:
        return EmitSite({CallSite::kMembers, expr.index, 0, 0, 0}, from);
      default:
        return AddNode();  // kNothing: no way leads there
    }
  }

  uint32_t EmitSite(CallSite site, uint32_t from) {
    const uint32_t caller = AddNode();
    AddEmpty(from, caller);
    site.back = AddNode();
    out_.site_of_[caller] = static_cast<uint32_t>(out_.sites_.size());
    out_.sites_.push_back(site);
    return site.back;
  }

  StatusOr<uint32_t> EmitDfa(const CharDfa& dfa, bool json, uint32_t from) {
    std::vector<uint32_t> nodes(dfa.n_states());
    for (uint32_t& node : nodes) node = AddNode();
    const uint32_t end = AddNode();
    const std::vector<CodePointSet> sets = dfa.classes().Sets();
    for (uint32_t s = 0; s < nodes.size(); ++s) {
      std::map<uint32_t, CodePointSet> ways;
      for (uint32_t c = 0; c < sets.size(); ++c) {
        if (const int32_t next = dfa.Next(s, c); next != CharDfa::kDead) {
          ways[static_cast<uint32_t>(next)].Add(sets[c]);
        }
      }
      for (const auto& [next, set] : ways) {
        json ? bytes_.AddJson(set, nodes[s], nodes[next])
             : bytes_.AddUtf8(set, nodes[s], nodes[next]);
      }
      if (dfa.accepting(s)) AddEmpty(nodes[s], end);
      KRAFLA_RETURN_IF_ERROR(CheckSize(0));
    }
    AddEmpty(from, nodes[0]);
    return end;
  }

  StatusOr<uint32_t> EmitChoice(const Expr& expr, uint32_t from, int depth) {
    const std::span<const ExprId> parts(grammar_.parts.data() + expr.index, expr.n_parts);
    const uint32_t end = AddNode();
    std::vector<std::string_view> literals;
    for (ExprId part : parts) {
      if (grammar_.exprs[part].kind == ExprKind::kBytes) {
        literals.push_back(grammar_.literals[grammar_.exprs[part].index]);
        continue;
      }
      const uint32_t start = AddNode();
      AddEmpty(from, start);
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t last, Emit(part, start, depth + 1));
      AddEmpty(last, end);
    }
    EmitTrie(std::move(literals), from, end);
    return end;
  }

  // Texts that begin alike share their nodes, so that thousands of choices are one thread.
  void EmitTrie(std::vector<std::string_view> texts, uint32_t from, uint32_t end) {
    if (texts.empty()) return;
    std::sort(texts.begin(), texts.end());
    const uint32_t start = AddNode();
    AddEmpty(from, start);
    std::vector<uint32_t> path{start};
    std::string_view before;
    for (std::string_view text : texts) {
      const auto differ = std::mismatch(before.begin(), before.end(), text.begin(), text.end());
      path.resize(static_cast<size_t>(differ.first - before.begin()) + 1);
      for (size_t i = path.size() - 1; i < text.size(); ++i) {
        path.push_back(AddNode());
        const auto byte = static_cast<uint8_t>(text[i]);
        AddEdge(path[i], byte, byte, path[i + 1]);
      }
      AddEmpty(path.back(), end);
      before = text;
    }
  }

  // An estimate of each expression's nodes; its parts come before it.
  void Measure() {
    sizes_.reserve(grammar_.exprs.size());
    for (const Expr& expr : grammar_.exprs) {
      uint64_t size = 2;
      switch (expr.kind) {
        case ExprKind::kBytes:
          size = grammar_.literals[expr.index].size();
          break;
        case ExprKind::kClass:
          size = grammar_.sets[expr.index].ranges().size() * 4;
          break;
        case ExprKind::kStrings:
          size = grammar_.strings[expr.index].n_states() * 4ull;
          break;
        case ExprKind::kJson:
          size = grammar_.strings[expr.index].n_states() * 30ull;
          break;
        default:
          break;
      }
      for (uint32_t i = 0; i < expr.n_parts; ++i) size += sizes_[grammar_.parts[expr.index + i]];
      if (expr.kind == ExprKind::kRepeat) {
        size = std::min(size * Copies(expr), kMaxCopiedNodes);  // more are counted
      }
      sizes_.push_back(size);
    }
  }
  static uint64_t Copies(const Expr& expr) {
    return expr.max == kUnbounded ? uint64_t{expr.min} + 1 : expr.max;
  }

  StatusOr<uint32_t> EmitRepeat(const Expr& expr, uint32_t from, int depth) {
    const ExprId part = grammar_.parts[expr.index];
    if (expr.max == 0) return from;
    const uint64_t n = Copies(expr);
    if (n <= 2 || n * (sizes_[part] + 2) <= kMaxCopiedNodes) {
      return EmitCopies(expr, part, from, depth);
    }
    const auto [known, added] = counted_rules_.try_emplace(part, 0);
    if (added) {
      known->second = static_cast<RuleId>(out_.starts_.size());
      const uint32_t start = AddNode();
      out_.starts_.push_back(start);
      counted_.push_back({start, part});
    }
    return EmitSite({CallSite::kRepeat, known->second, 0, expr.min, expr.max}, from);
  }

  // min copies, then max - min that may be left out, or a loop.
  StatusOr<uint32_t> EmitCopies(const Expr& expr, ExprId part, uint32_t from, int depth) {
    const uint32_t end = AddNode();
    const uint32_t n = expr.max == kUnbounded ? expr.min : expr.max;
    for (uint32_t i = 0; i < n; ++i) {
      if (i >= expr.min) AddEmpty(from, end);
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t last, Emit(part, from, depth + 1));
      // A copy of an empty part ends where it began; a node of its own keeps loops apart.
      from = AddNode();
      AddEmpty(last, from);
    }
    if (expr.max == kUnbounded) {
      const uint32_t loop = AddNode();
      AddEmpty(from, loop);
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t last, Emit(part, loop, depth + 1));
      AddEmpty(last, loop);
      from = loop;
    }
    AddEmpty(from, end);
    return end;
  }

  void Flatten() {
    std::stable_sort(edges_.begin(), edges_.end(),
                     [](const Edge& a, const Edge& b) { return a.from < b.from; });
    std::stable_sort(empty_.begin(), empty_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const uint32_t n = out_.n_nodes();
    out_.edge_begin_.assign(n + 1, 0);
    out_.empty_begin_.assign(n + 1, 0);
    out_.edges_.reserve(edges_.size());
    out_.empty_.reserve(empty_.size());
    std::array<bool, 257> cut{};
    for (const Edge& edge : edges_) {
      ++out_.edge_begin_[edge.from + 1];
      out_.edges_.push_back(edge.edge);
      cut[edge.edge.first] = cut[edge.edge.last + 1u] = true;
    }
    for (const auto& [from, to] : empty_) {
      ++out_.empty_begin_[from + 1];
      out_.empty_.push_back(to);
    }
    for (uint32_t i = 0; i < n; ++i) {
      out_.edge_begin_[i + 1] += out_.edge_begin_[i];
      out_.empty_begin_[i + 1] += out_.empty_begin_[i];
    }
    uint32_t cls = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      if (byte == 0 || cut[byte]) {
        if (byte != 0) ++cls;
        out_.class_bytes_[cls] = static_cast<uint8_t>(byte);
      }
      out_.byte_classes_[byte] = static_cast<uint8_t>(cls);
    }
    out_.n_classes_ = cls + 1;
  }

  const Grammar& grammar_;
  const uint32_t max_nodes_;
  Automaton out_;
  CharacterBytes bytes_;
  std::vector<Edge> edges_;
  std::vector<std::pair<uint32_t, uint32_t>> empty_;
  std::vector<uint64_t> sizes_;
  std::map<ExprId, RuleId> counted_rules_;
  std::vector<std::pair<uint32_t, ExprId>> counted_;  // start node, body
};

StatusOr<Automaton> Automaton::Build(const Grammar& grammar, uint32_t max_nodes) {
  return AutomatonBuilder(grammar, max_nodes).Build();
}

}  // namespace krafla

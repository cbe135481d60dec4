// See automaton_checks.h. All of it are walks backwards from the ends of rules, with lists of work
// instead of recursion.
#include "lib/constraint/automaton_checks.h"

#include <algorithm>
#include <utility>

namespace krafla {
namespace {

constexpr uint16_t kTooDeep = kMaxStack + 1;  // a need of so many frames, or of more

// Targets grouped by where they lead: begin[to] .. begin[to + 1].
void Group(const std::vector<std::pair<uint32_t, uint32_t>>& links, uint32_t n,
           std::vector<uint32_t>* begin, std::vector<uint32_t>* from) {
  begin->assign(n + 2, 0);
  for (const auto& link : links) ++(*begin)[link.second + 2];
  for (uint32_t i = 0; i + 1 < n + 2; ++i) (*begin)[i + 1] += (*begin)[i];
  from->resize(links.size());
  for (const auto& link : links) (*from)[(*begin)[link.second + 1]++] = link.first;
}

template <typename Function>
void ForEachRule(const Automaton& automaton, const CallSite& site, Function function) {
  if (site.kind != CallSite::kMembers) {
    function(site.rule);
    return;
  }
  const Members& members = automaton.members(site.rule);
  for (const Members::Item& item : members.items) function(item.rule);
  if (members.has_rest) function(members.rest);
  function(members.separator);
}

}  // namespace

Status AutomatonChecks::Run() {
  LinkBackwards();
  FindEmptyRules();
  KRAFLA_RETURN_IF_ERROR(CheckCounted());
  KRAFLA_RETURN_IF_ERROR(CheckLeftRecursion());
  FindLastCalls();
  FindNeeds();
  const uint16_t need = automaton_.need_of_rule(automaton_.root_);
  if (need == kDeadEnd) return ArgumentError("constraint: no text satisfies it");
  if (need == kTooDeep) {
    return UnsupportedError(
        "constraint: rules are nested deeper than {} in every text that satisfies it", kMaxStack);
  }
  std::replace(automaton_.need_.begin(), automaton_.need_.end(), kTooDeep, kDeadEnd);
  SkipNames();
  return OkStatus();
}

std::string AutomatonChecks::NameOf(RuleId rule) const {
  if (rule >= grammar_.rules.size()) return "repetition";
  return FormatText("{} (at byte {})", grammar_.rules[rule].name, grammar_.rules[rule].position);
}

void AutomatonChecks::LinkBackwards() {
  const uint32_t n = automaton_.n_nodes();
  std::vector<std::pair<uint32_t, uint32_t>> links, empty;
  for (uint32_t node = 0; node < n; ++node) {
    for (const ByteEdge& edge : automaton_.edges(node)) links.push_back({node, edge.to});
    for (uint32_t to : automaton_.empty_edges(node)) empty.push_back({node, to});
  }
  Group(links, n, &before_begin_, &before_);
  Group(empty, n, &empty_before_begin_, &empty_before_);
  sites_of_rule_.resize(automaton_.starts_.size());
  site_behind_.assign(n, kNoSite);
  rule_of_start_.assign(n, kNoSite);
  caller_of_site_.resize(automaton_.sites_.size());
  for (uint32_t node = 0; node < n; ++node) {
    if (automaton_.site(node) != kNoSite) caller_of_site_[automaton_.site(node)] = node;
  }
  for (uint32_t s = 0; s < automaton_.sites_.size(); ++s) {
    site_behind_[automaton_.sites_[s].back] = s;
    ForEachRule(automaton_, automaton_.sites_[s],
                [&](RuleId rule) { sites_of_rule_[rule].push_back(s); });
  }
  for (uint32_t r = 0; r < automaton_.starts_.size(); ++r)
    rule_of_start_[automaton_.starts_[r]] = r;
}

bool AutomatonChecks::MayBeEmpty(const CallSite& site) const {
  if (site.kind != CallSite::kMembers) {
    return (site.kind == CallSite::kRepeat && site.min == 0) ||
           may_be_empty_[automaton_.start(site.rule)] != 0;
  }
  const Members& members = automaton_.members(site.rule);
  return members.min == 0 && std::none_of(members.items.begin(), members.items.end(),
                                          [](const Members::Item& item) { return item.required; });
}

void AutomatonChecks::FindEmptyRules() {
  may_be_empty_ = automaton_.ends_;
  std::vector<uint32_t> work;
  for (uint32_t n = 0; n < may_be_empty_.size(); ++n) {
    if (may_be_empty_[n] != 0) work.push_back(n);
  }
  const auto mark = [&](uint32_t node) {
    if (std::exchange(may_be_empty_[node], 1) == 0) work.push_back(node);
  };
  const auto check = [&](uint32_t s) {
    const CallSite& site = automaton_.sites_[s];
    if (may_be_empty_[site.back] != 0 && MayBeEmpty(site)) mark(caller_of_site_[s]);
  };
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    for (uint32_t i = empty_before_begin_[node]; i < empty_before_begin_[node + 1]; ++i) {
      mark(empty_before_[i]);
    }
    if (site_behind_[node] != kNoSite) check(site_behind_[node]);
    if (rule_of_start_[node] == kNoSite) continue;
    for (uint32_t s : sites_of_rule_[rule_of_start_[node]]) check(s);
  }
}

// Going round in a counted repetition without a byte would take as many turns as it counts.
Status AutomatonChecks::CheckCounted() const {
  for (const CallSite& site : automaton_.sites_) {
    if (site.kind != CallSite::kRepeat || may_be_empty_[automaton_.start(site.rule)] == 0) continue;
    return UnsupportedError(
        "constraint: a part that may be empty is repeated {} to {} times, want a part that is not "
        "empty or fewer repetitions",
        site.min, static_cast<int32_t>(site.max));
  }
  return OkStatus();
}

std::vector<RuleId> AutomatonChecks::CalledFirst(RuleId rule, std::vector<uint32_t>* seen) const {
  std::vector<RuleId> called;
  std::vector<uint32_t> work{automaton_.start(rule)};
  while (!work.empty()) {
    const uint32_t node = work.back();
    work.pop_back();
    if (std::exchange((*seen)[node], rule + 1) == rule + 1) continue;
    for (uint32_t to : automaton_.empty_edges(node)) work.push_back(to);
    if (automaton_.site(node) == kNoSite) continue;
    const CallSite& site = automaton_.call(automaton_.site(node));
    ForEachRule(automaton_, site, [&](RuleId callee) { called.push_back(callee); });
    if (MayBeEmpty(site)) work.push_back(site.back);
  }
  return called;
}

Status AutomatonChecks::CheckLeftRecursion() const {
  const auto n = static_cast<uint32_t>(automaton_.starts_.size());
  std::vector<uint32_t> seen(automaton_.n_nodes(), 0);
  std::vector<std::vector<RuleId>> first(n);
  for (RuleId r = 0; r < n; ++r) first[r] = CalledFirst(r, &seen);
  std::vector<uint8_t> color(n, 0);  // 1: on the path, 2: done
  for (RuleId root = 0; root < n; ++root) {
    if (color[root] != 0) continue;
    std::vector<std::pair<RuleId, size_t>> path{{root, 0}};
    color[root] = 1;
    while (!path.empty()) {
      auto& [rule, next] = path.back();
      if (next == first[rule].size()) {
        color[rule] = 2;
        path.pop_back();
        continue;
      }
      const RuleId callee = first[rule][next++];
      if (color[callee] == 1) {
        return ArgumentError(
            "constraint: rule {} calls itself before it has read anything (left "
            "recursion)",
            NameOf(callee));
      }
      if (color[callee] == 0) {
        color[callee] = 1;
        path.push_back({callee, 0});
      }
    }
  }
  return OkStatus();
}

// So a list written as a rule that ends by calling itself takes no deeper stack for a longer text,
// nor does a rule that is but another's name.
void AutomatonChecks::FindLastCalls() {
  for (CallSite& site : automaton_.sites_) {
    uint32_t node = site.back;
    while (automaton_.edges(node).empty() && automaton_.site(node) == kNoSite &&
           !automaton_.ends(node) && automaton_.empty_edges(node).size() == 1 &&
           automaton_.empty_edges(node)[0] != node) {
      node = automaton_.empty_edges(node)[0];
    }
    site.last = automaton_.ends(node) && automaton_.edges(node).empty() &&
                automaton_.site(node) == kNoSite && automaton_.empty_edges(node).empty();
  }
}

// A rule that is but another's name begins where that one does, so that a chain of thousands is no
// step of thousands of threads. None leads back to itself: that is left recursion.
void AutomatonChecks::SkipNames() {
  std::vector<RuleId> path;
  std::vector<RuleId> meant(automaton_.starts_.size(), kNoSite);
  for (RuleId rule = 0; rule < meant.size(); ++rule) {
    RuleId at = rule;
    for (path.clear(); meant[at] == kNoSite;) {
      path.push_back(at);
      const RuleId next = OtherNameOf(at);
      if (next == at) meant[at] = at;
      at = next;
    }
    for (RuleId name : path) meant[name] = meant[at];
  }
  const std::vector<uint32_t> starts = automaton_.starts_;
  for (RuleId rule = 0; rule < meant.size(); ++rule) automaton_.starts_[rule] = starts[meant[rule]];
}

// The rule that is all of this one; itself where there is more to it.
RuleId AutomatonChecks::OtherNameOf(RuleId rule) const {
  uint32_t node = automaton_.start(rule);
  while (automaton_.edges(node).empty() && !automaton_.ends(node)) {
    const uint32_t s = automaton_.site(node);
    const std::span<const uint32_t> empty = automaton_.empty_edges(node);
    if (s != kNoSite) {
      const CallSite& site = automaton_.call(s);
      return empty.empty() && site.kind == CallSite::kCall && site.last ? site.rule : rule;
    }
    if (empty.size() != 1 || empty[0] == node) break;
    node = empty[0];
  }
  return rule;
}

// Of a frame in which the rule is read.
uint16_t AutomatonChecks::NeedOfFrame(RuleId rule) const {
  const uint16_t need = automaton_.need_of_rule(rule);
  return need == kDeadEnd ? kDeadEnd : std::min<uint16_t>(need + 1, kTooDeep);
}

uint16_t AutomatonChecks::NeedOf(const Members& members) const {
  const auto need = [this](RuleId rule) -> uint16_t { return NeedOfFrame(rule); };
  uint16_t most = 0;
  std::vector<uint16_t> optional;
  uint32_t required = 0;
  for (const Members::Item& item : members.items) {
    if (item.required) {
      if (need(item.rule) == kDeadEnd) return kDeadEnd;
      most = std::max(most, need(item.rule));
      ++required;
    } else if (need(item.rule) != kDeadEnd) {
      optional.push_back(need(item.rule));
    }
  }
  if (required > members.max) return kDeadEnd;
  if (required >= members.min) return most;
  const uint32_t more = members.min - required;
  std::sort(optional.begin(), optional.end());
  uint16_t last = more <= optional.size() ? optional[more - 1] : kDeadEnd;
  if (members.has_rest) last = std::min(last, need(members.rest));
  return last == kDeadEnd ? kDeadEnd : std::max(most, last);
}

uint16_t AutomatonChecks::NeedOf(const CallSite& site) const {
  const uint16_t behind = automaton_.need(site.back);
  if (behind == kDeadEnd) return kDeadEnd;
  if (site.kind == CallSite::kRepeat && site.min == 0) return behind;
  uint16_t inside = kDeadEnd;
  if (site.kind == CallSite::kMembers) {
    inside = NeedOf(automaton_.members(site.rule));
  } else if (site.kind == CallSite::kCall && site.last) {
    inside = automaton_.need_of_rule(site.rule);
  } else {
    inside = NeedOfFrame(site.rule);
  }
  return inside == kDeadEnd ? kDeadEnd : std::max(behind, inside);
}

// The least first, as Dijkstra: a node's need is settled when it is taken out. Beyond the limit all
// are alike: what is too deep is told from what has no end at all.
void AutomatonChecks::FindNeeds() {
  const uint32_t n = automaton_.n_nodes();
  automaton_.need_.assign(n, kDeadEnd);
  std::vector<std::vector<uint32_t>> work(kTooDeep + 1);
  for (uint32_t node = 0; node < n; ++node) {
    if (automaton_.ends(node)) work[0].push_back(node);
  }
  uint16_t level = 0;
  const auto offer = [&](uint32_t node, uint16_t need) {
    if (need != kDeadEnd && automaton_.need_[node] == kDeadEnd) work[need].push_back(node);
  };
  const auto check = [&](uint32_t s) { offer(caller_of_site_[s], NeedOf(automaton_.sites_[s])); };
  for (; level <= kTooDeep; ++level) {
    while (!work[level].empty()) {
      const uint32_t node = work[level].back();
      work[level].pop_back();
      if (automaton_.need_[node] != kDeadEnd) continue;
      automaton_.need_[node] = level;
      for (uint32_t i = before_begin_[node]; i < before_begin_[node + 1]; ++i) {
        offer(before_[i], level);
      }
      for (uint32_t i = empty_before_begin_[node]; i < empty_before_begin_[node + 1]; ++i) {
        offer(empty_before_[i], level);
      }
      if (site_behind_[node] != kNoSite) check(site_behind_[node]);
      if (rule_of_start_[node] == kNoSite) continue;
      for (uint32_t s : sites_of_rule_[rule_of_start_[node]]) check(s);
    }
  }
}

}  // namespace krafla

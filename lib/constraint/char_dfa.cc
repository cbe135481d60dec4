// See char_dfa.h.
#include "lib/constraint/char_dfa.h"

#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/utf8.h"

namespace krafla {

CharClasses CharClasses::Of(std::span<const CodePointSet> sets) {
  // Sweep over all ends of ranges; a character's signature is the list of sets that have it.
  std::vector<std::pair<uint32_t, uint32_t>> turns;  // (code point, set that begins or ends there)
  for (uint32_t i = 0; i < sets.size(); ++i) {
    for (const CodePointRange& range : sets[i].ranges()) {
      turns.push_back({range.first, i});
      turns.push_back({range.last + 1, i});
    }
  }
  std::sort(turns.begin(), turns.end());
  CharClasses out;
  std::map<std::vector<uint32_t>, uint32_t> by_signature;
  std::vector<uint32_t> inside;
  size_t next = 0;
  for (uint32_t at = 0; at <= kMaxCodePoint;) {
    for (; next < turns.size() && turns[next].first == at; ++next) {
      const auto it = std::lower_bound(inside.begin(), inside.end(), turns[next].second);
      if (it != inside.end() && *it == turns[next].second) {
        inside.erase(it);
      } else {
        inside.insert(it, turns[next].second);
      }
    }
    const auto [found, added] = by_signature.try_emplace(inside, out.n_classes);
    if (added) ++out.n_classes;
    out.starts.push_back(at);
    out.classes.push_back(found->second);
    at = next < turns.size() ? turns[next].first : kMaxCodePoint + 1;
  }
  return out;
}

uint32_t CharClasses::ClassOf(uint32_t code_point) const {
  const auto it = std::upper_bound(starts.begin(), starts.end(), code_point);
  return classes[static_cast<size_t>(it - starts.begin()) - 1];
}

std::vector<CodePointSet> CharClasses::Sets() const {
  std::vector<CodePointSet> sets(n_classes);
  for (size_t i = 0; i < starts.size(); ++i) {
    const uint32_t last = i + 1 < starts.size() ? starts[i + 1] - 1 : kMaxCodePoint;
    sets[classes[i]].Add(starts[i], last);
  }
  return sets;
}

uint32_t CharDfa::AddState(bool accepting) {
  table_.insert(table_.end(), classes_.n_classes, kDead);
  accepting_.push_back(accepting ? 1 : 0);
  return n_states() - 1;
}

CharDfa CharDfa::All() {
  CharDfa out(CharClasses::Of({}));
  out.AddState(true);
  out.SetNext(0, 0, 0);
  return out;
}

bool CharDfa::IsAll() const {
  if (n_states() != 1 || !accepting(0)) return false;
  return std::all_of(table_.begin(), table_.end(), [](int32_t next) { return next == 0; });
}

CharDfa CharDfa::Lengths(uint32_t min, uint32_t max) {
  CharDfa out(CharClasses::Of({}));
  if (min > max) return CharDfa();
  for (uint32_t i = 0; i <= max; ++i) out.AddState(i >= min);
  for (uint32_t i = 0; i < max; ++i) out.SetNext(i, 0, static_cast<int32_t>(i + 1));
  return out;
}

Status CharDfa::CheckSize() const {
  if (n_states() <= kMaxStates && size_t{n_states()} * classes_.n_classes <= kMaxCells) {
    return OkStatus();
  }
  return UnsupportedError("a set of strings that needs more than {} states of {} classes",
                          kMaxStates, classes_.n_classes);
}

StatusOr<CharDfa> CharDfa::FromStrings(std::span<const std::string> texts) {
  std::vector<uint32_t> used;
  for (const std::string& text : texts) {
    for (std::string_view rest = text; !rest.empty();) {
      const CodePoint c = DecodeUtf8(rest);
      used.push_back(c.value);
      rest.remove_prefix(c.length);
    }
  }
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  std::vector<CodePointSet> sets;
  for (uint32_t c : used) sets.push_back({{c, c}});
  CharDfa out(CharClasses::Of(sets));
  out.AddState(false);
  for (const std::string& text : texts) {
    uint32_t state = 0;
    for (std::string_view rest = text; !rest.empty();) {
      const CodePoint c = DecodeUtf8(rest);
      rest.remove_prefix(c.length);
      const uint32_t cls = out.classes_.ClassOf(c.value);
      int32_t next = out.Next(state, cls);
      if (next == kDead) {
        next = static_cast<int32_t>(out.AddState(false));
        out.SetNext(state, cls, next);
      }
      state = static_cast<uint32_t>(next);
    }
    out.accepting_[state] = 1;
    KRAFLA_RETURN_IF_ERROR(out.CheckSize());
  }
  if (texts.empty()) return CharDfa();
  return out;
}

bool CharDfa::Matches(std::string_view text) const {
  if (empty()) return false;
  uint32_t state = 0;
  while (!text.empty()) {
    const CodePoint c = DecodeUtf8(text);
    text.remove_prefix(c.length);
    const int32_t next = Next(state, classes_.ClassOf(c.value));
    if (next == kDead) return false;
    state = static_cast<uint32_t>(next);
  }
  return accepting(state);
}

void CharDfa::Trim() {
  std::vector<std::vector<uint32_t>> before(n_states());
  for (uint32_t s = 0; s < n_states(); ++s) {
    for (uint32_t c = 0; c < classes_.n_classes; ++c) {
      if (const int32_t next = Next(s, c); next != kDead)
        before[static_cast<size_t>(next)].push_back(s);
    }
  }
  std::vector<uint8_t> alive = accepting_;
  std::vector<uint32_t> work;
  for (uint32_t s = 0; s < n_states(); ++s) {
    if (alive[s] != 0) work.push_back(s);
  }
  while (!work.empty()) {
    const uint32_t s = work.back();
    work.pop_back();
    for (uint32_t from : before[s]) {
      if (std::exchange(alive[from], 1) == 0) work.push_back(from);
    }
  }
  if (alive.empty() || alive[0] == 0) {
    *this = CharDfa();
    return;
  }
  std::vector<int32_t> renamed(n_states(), kDead);
  CharDfa out(classes_);
  for (uint32_t s = 0; s < n_states(); ++s) {
    if (alive[s] != 0) renamed[s] = static_cast<int32_t>(out.AddState(accepting(s)));
  }
  for (uint32_t s = 0; s < n_states(); ++s) {
    if (alive[s] == 0) continue;
    for (uint32_t c = 0; c < classes_.n_classes; ++c) {
      const int32_t next = Next(s, c);
      if (next != kDead)
        out.SetNext(static_cast<uint32_t>(renamed[s]), c, renamed[static_cast<size_t>(next)]);
    }
  }
  *this = std::move(out);
}

// The product over pairs of states, of which one may be dead.
template <typename Accepts>
StatusOr<CharDfa> CharDfa::Combine(const CharDfa& a, const CharDfa& b, Accepts accepts) {
  std::vector<CodePointSet> sets;
  for (const CharDfa* dfa : {&a, &b}) {
    if (dfa->empty()) continue;
    for (CodePointSet& set : dfa->classes_.Sets()) sets.push_back(std::move(set));
  }
  CharDfa out(CharClasses::Of(sets));
  const std::vector<CodePointSet> joint = out.classes_.Sets();
  std::vector<std::pair<uint32_t, uint32_t>> old;  // of a joint class: its class in a and in b
  for (const CodePointSet& set : joint) {
    // The class of the surrogates alone has no character; any class will do.
    const uint32_t c = set.empty() ? 0xD800 : set.ranges()[0].first;
    old.push_back({a.empty() ? 0 : a.classes_.ClassOf(c), b.empty() ? 0 : b.classes_.ClassOf(c)});
  }
  using Pair = std::pair<int32_t, int32_t>;
  std::map<Pair, uint32_t> known;
  std::vector<Pair> pairs;
  const auto visit = [&](Pair pair) {
    const auto [it, added] = known.try_emplace(pair, out.n_states());
    if (added) {
      pairs.push_back(pair);
      const bool in_a = pair.first != kDead && a.accepting(static_cast<uint32_t>(pair.first));
      const bool in_b = pair.second != kDead && b.accepting(static_cast<uint32_t>(pair.second));
      out.AddState(accepts(in_a, in_b));
    }
    return static_cast<int32_t>(it->second);
  };
  visit({a.empty() ? kDead : 0, b.empty() ? kDead : 0});
  for (size_t i = 0; i < pairs.size(); ++i) {
    KRAFLA_RETURN_IF_ERROR(out.CheckSize());
    const Pair pair = pairs[i];
    for (uint32_t c = 0; c < out.classes_.n_classes; ++c) {
      const Pair next = {
          pair.first == kDead ? kDead : a.Next(static_cast<uint32_t>(pair.first), old[c].first),
          pair.second == kDead ? kDead : b.Next(static_cast<uint32_t>(pair.second), old[c].second)};
      if (next.first == kDead && next.second == kDead) continue;
      const int32_t state = visit(next);  // may move the table
      out.SetNext(static_cast<uint32_t>(i), c, state);
    }
  }
  out.Trim();
  return out;
}

StatusOr<CharDfa> CharDfa::Intersect(const CharDfa& a, const CharDfa& b) {
  if (a.IsAll()) return b;
  if (b.IsAll()) return a;
  return Combine(a, b, [](bool x, bool y) { return x && y; });
}

StatusOr<CharDfa> CharDfa::Union(const CharDfa& a, const CharDfa& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return Combine(a, b, [](bool x, bool y) { return x || y; });
}

StatusOr<CharDfa> CharDfa::Minus(const CharDfa& a, const CharDfa& b) {
  if (b.empty()) return a;
  return Combine(a, b, [](bool x, bool y) { return x && !y; });
}

}  // namespace krafla

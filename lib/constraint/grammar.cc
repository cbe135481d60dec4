// See grammar.h.
#include "lib/constraint/grammar.h"

#include <iterator>
#include <utility>

#include "lib/base/utf8.h"

namespace krafla {

ExprId Grammar::Add(Expr expr) {
  exprs.push_back(expr);
  return static_cast<ExprId>(exprs.size() - 1);
}

ExprId Grammar::Bytes(std::string_view text) {
  if (text.empty()) return Empty();
  literals.emplace_back(text);
  return Add({ExprKind::kBytes, static_cast<uint32_t>(literals.size() - 1)});
}

ExprId Grammar::Class(CodePointSet set) {
  if (set.empty()) return Add({ExprKind::kNothing});
  sets.push_back(std::move(set));
  return Add({ExprKind::kClass, static_cast<uint32_t>(sets.size() - 1)});
}

ExprId Grammar::Strings(CharDfa dfa, ExprKind kind) {
  if (dfa.empty()) return Add({ExprKind::kNothing});
  strings.push_back(std::move(dfa));
  return Add({kind, static_cast<uint32_t>(strings.size() - 1)});
}

ExprId Grammar::Join(ExprKind kind, std::span<const ExprId> items) {
  if (items.size() == 1) return items[0];
  if (items.empty())
    return Add({kind == ExprKind::kChoice ? ExprKind::kNothing : ExprKind::kEmpty});
  const auto first = static_cast<uint32_t>(parts.size());
  parts.insert(parts.end(), items.begin(), items.end());
  return Add({kind, first, static_cast<uint32_t>(items.size())});
}

ExprId Grammar::Repeat(ExprId item, uint32_t min, uint32_t max) {
  if (min == 1 && max == 1) return item;
  parts.push_back(item);
  return Add({ExprKind::kRepeat, static_cast<uint32_t>(parts.size() - 1), 1, min, max});
}

ExprId Grammar::AddMembers(Members m) {
  members.push_back(std::move(m));
  return Add({ExprKind::kMembers, static_cast<uint32_t>(members.size() - 1)});
}

RuleId Grammar::AddRule(std::string name, uint32_t position) {
  rules.push_back({std::move(name), 0, position});
  return static_cast<RuleId>(rules.size() - 1);
}

RuleId Grammar::Include(Grammar other) {
  const auto at = [](const auto& list) { return static_cast<uint32_t>(list.size()); };
  const uint32_t expr = at(exprs), part = at(parts), rule = at(rules);
  for (Expr e : other.exprs) {
    switch (e.kind) {
      case ExprKind::kBytes:
        e.index += at(literals);
        break;
      case ExprKind::kClass:
        e.index += at(sets);
        break;
      case ExprKind::kStrings:
      case ExprKind::kJson:
        e.index += at(strings);
        break;
      case ExprKind::kSequence:
      case ExprKind::kChoice:
      case ExprKind::kRepeat:
        e.index += part;
        break;
      case ExprKind::kRule:
        e.index += rule;
        break;
      case ExprKind::kMembers:
        e.index += at(members);
        break;
      case ExprKind::kEmpty:
      case ExprKind::kNothing:
      case ExprKind::kBegin:
      case ExprKind::kEnd:
        break;
    }
    exprs.push_back(e);
  }
  for (const ExprId p : other.parts) parts.push_back(p + expr);
  for (Members& m : other.members) {
    for (Members::Item& item : m.items) item.rule += rule;
    m.rest += rule;
    m.separator += rule;
    members.push_back(std::move(m));
  }
  for (Rule& r : other.rules) {
    r.body += expr;
    rules.push_back(std::move(r));
  }
  const auto append = [](auto& from, auto* to) {
    to->insert(to->end(), std::make_move_iterator(from.begin()),
               std::make_move_iterator(from.end()));
  };
  append(other.literals, &literals);
  append(other.sets, &sets);
  append(other.strings, &strings);
  return other.root + rule;
}

StatusOr<Grammar> ReadChoices(std::span<const std::string_view> choices) {
  constexpr size_t kMaxChoices = 100000;
  if (choices.empty() || choices.size() > kMaxChoices) {
    return ArgumentError("choices: got {}, want 1 to {}", choices.size(), kMaxChoices);
  }
  size_t total = 0;
  std::vector<std::string> texts;
  for (size_t i = 0; i < choices.size(); ++i) {
    total += choices[i].size();
    if (total > kMaxSourceBytes) {
      return ArgumentError("choices[{}]: more than {} bytes in all", i, kMaxSourceBytes);
    }
    if (const size_t valid = ValidUtf8Prefix(choices[i]); valid != choices[i].size()) {
      return ArgumentError("choices[{}]: not UTF-8 at byte {}", i, valid);
    }
    if (choices[i].empty()) return ArgumentError("choices[{}]: got an empty text", i);
    texts.emplace_back(choices[i]);
  }
  Grammar grammar;
  grammar.root = grammar.AddRule("choices");
  std::vector<ExprId> items;
  for (const std::string& text : texts) items.push_back(grammar.Bytes(text));
  grammar.rules[0].body = grammar.Choice(items);
  return grammar;
}

}  // namespace krafla

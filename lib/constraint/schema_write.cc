// Shapes to rules: one rule for each distinct list of schemas that a value must satisfy, from a
// list of work, so that recursion in a schema becomes recursion of rules.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/constraint/schema_reader.h"

namespace krafla {
namespace {

constexpr size_t kMaxRules = 20000;
constexpr size_t kMaxOptionalPrefix = 200;
constexpr size_t kMaxUniqueValues = 1000;

class SchemaWriter {
 public:
  SchemaWriter(const JsonTree* tree, const SchemaOptions& options)
      : options_(options), reader_(tree, options) {}

  StatusOr<Grammar> Run() {
    AddSpace();
    KRAFLA_ASSIGN_OR_RETURN(grammar_.root, RuleOf({{0, SchemaRef::kSchema}}));
    for (size_t i = 0; i < work_.size(); ++i) {
      const auto [parts, rule] = work_[i];
      KRAFLA_ASSIGN_OR_RETURN(const Shape shape, reader_.ShapeOf(parts));
      const StatusOr<ExprId> body = Value(shape);
      if (!body.ok())
        return parts.empty() ? body.status() : reader_.At(parts[0].node, body.status());
      grammar_.rules[rule].body = *body;
    }
    return std::move(grammar_);
  }

 private:
  StatusOr<RuleId> RuleOf(const Parts& given) {
    KRAFLA_ASSIGN_OR_RETURN(Parts parts, reader_.Simplify(given));
    const auto [it, added] = rules_.try_emplace(parts, 0);
    if (added) {
      if (grammar_.rules.size() > kMaxRules) {
        return UnsupportedError("needs more than {} rules", kMaxRules);
      }
      it->second = grammar_.AddRule("value");
      work_.push_back({std::move(parts), it->second});
    }
    return it->second;
  }
  StatusOr<ExprId> Call(const Parts& parts) {
    KRAFLA_ASSIGN_OR_RETURN(const RuleId rule, RuleOf(parts));
    return grammar_.Call(rule);
  }
  RuleId NewRule(ExprId body) {
    const RuleId rule = grammar_.AddRule("part");
    grammar_.rules[rule].body = body;
    return rule;
  }
  ExprId Text(std::string_view text) { return grammar_.Bytes(text); }
  ExprId Join(std::initializer_list<ExprId> items) {
    return grammar_.Sequence({items.begin(), items.size()});
  }
  ExprId Either(std::initializer_list<ExprId> items) {
    return grammar_.Choice({items.begin(), items.size()});
  }

  // Between tokens: behind an opening bracket or a comma and before a closing one; behind a colon.
  // Bounded, for small models write white space without end where they may.
  void AddSpace() {
    const ExprId nothing = grammar_.Empty(), space = Text(" ");
    ExprId between = nothing, colon = nothing, comma = nothing;
    if (options_.space == JsonSpace::kPython) colon = comma = space;
    if (options_.space == JsonSpace::kFlexible) {
      const ExprId indent = grammar_.Repeat(grammar_.Class({{' ', ' '}, {'\t', '\t'}}), 0, 32);
      between = comma = Either({nothing, space, Join({Text("\n"), indent})});
      colon = Either({nothing, space});
    }
    const RuleId rule = NewRule(between);
    between_ = grammar_.Call(rule);
    colon_ = Join({Text(":"), colon});
    comma_rule_ = NewRule(Join({Text(","), comma}));
  }

  StatusOr<ExprId> Value(const Shape& shape) {
    std::vector<ExprId> any;
    if (shape.null) any.push_back(Text("null"));
    if (shape.yes) any.push_back(Text("true"));
    if (shape.no) any.push_back(Text("false"));
    if (!shape.numbers.empty()) {
      KRAFLA_ASSIGN_OR_RETURN(CharDfa texts, NumberTexts(shape.numbers));
      any.push_back(grammar_.Strings(std::move(texts)));
    }
    for (const StringShape& s : shape.strings) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId string, String(s));
      any.push_back(Join({Text("\""), string, Text("\"")}));
    }
    for (const ArrayShape& a : shape.arrays) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId array, Array(a));
      any.push_back(array);
    }
    for (const ObjectShape& o : shape.objects) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId object, Object(o));
      any.push_back(object);
    }
    return grammar_.Choice(any);
  }

  // Lengths alone are counted in a frame, however large they are.
  StatusOr<ExprId> String(const StringShape& s) {
    if (s.strings != nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(CharDfa strings, StringsOf(s));
      return grammar_.Strings(std::move(strings), ExprKind::kJson);
    }
    if (s.min == 0 && s.max == kUnbounded) {
      return grammar_.Strings(CharDfa::All(), ExprKind::kJson);
    }
    const ExprId one = grammar_.Strings(CharDfa::Lengths(1, 1), ExprKind::kJson);
    return grammar_.Repeat(one, s.min, s.max);
  }

  StatusOr<ExprId> Array(const ArrayShape& a) {
    if (a.unique && a.max > 1) return UniqueArray(a);
    const ExprId comma = grammar_.Call(comma_rule_);
    const auto n = static_cast<uint32_t>(std::min<size_t>(a.prefix.size(), a.max));
    const bool more = a.open && a.max > n;
    ExprId rest = grammar_.Empty();
    if (more) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId item, Call(a.rest));
      const uint32_t max = a.max == kUnbounded ? kUnbounded : a.max - n;
      const uint32_t min = a.min > n ? a.min - n : 0;
      const ExprId next = Join({comma, item});
      if (n > 0) {
        rest = grammar_.Repeat(next, min, max);
      } else {
        rest = Join({item, grammar_.Repeat(next, min == 0 ? 0 : min - 1,
                                           max == kUnbounded ? kUnbounded : max - 1)});
        if (min == 0) return Either({Text("[]"), Brackets("[", rest, "]")});
      }
    }
    if (n > a.min && n - a.min > kMaxOptionalPrefix) {
      return UnsupportedError("more than {} items of prefixItems that may be left out",
                              kMaxOptionalPrefix);
    }
    // From the last item of the prefix on: each brings what follows it with it.
    for (uint32_t i = n; i-- > a.min;) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId item, Call(a.prefix[i]));
      rest = i == 0 ? Join({item, rest}) : grammar_.Repeat(Join({comma, item, rest}), 0, 1);
    }
    std::vector<ExprId> items;
    for (uint32_t i = 0; i < std::min(n, a.min); ++i) {
      KRAFLA_ASSIGN_OR_RETURN(const ExprId item, Call(a.prefix[i]));
      if (i > 0) items.push_back(comma);
      items.push_back(item);
    }
    items.push_back(rest);
    const ExprId whole = Brackets("[", grammar_.Sequence(items), "]");
    if (n == 0 && !more) return a.min == 0 ? Text("[]") : grammar_.Add({ExprKind::kNothing});
    return a.min == 0 ? Either({Text("[]"), whole}) : whole;
  }

  ExprId Brackets(std::string_view open, ExprId inner, std::string_view close) {
    return Join({Text(open), between_, inner, between_, Text(close)});
  }

  // Items that are all different: possible where they are listed.
  StatusOr<ExprId> UniqueArray(const ArrayShape& a) {
    KRAFLA_ASSIGN_OR_RETURN(const Parts rest, reader_.Simplify(a.rest));
    const std::vector<uint32_t> values = reader_.Enumerated(rest);
    if (!a.prefix.empty() || values.empty() || values.size() > kMaxUniqueValues) {
      return UnsupportedError(
          "uniqueItems is not supported but with items of an enum, or maxItems 1");
    }
    Members members;
    members.separator = comma_rule_;
    members.min = std::max(a.min, 1u);
    members.max = a.max;
    for (uint32_t value : values) {
      KRAFLA_ASSIGN_OR_RETURN(const RuleId rule,
                              RuleOf(::krafla::Join(rest, {{value, SchemaRef::kValue}})));
      members.items.push_back({rule, false});
    }
    const ExprId some = Brackets("[", grammar_.AddMembers(std::move(members)), "]");
    return a.min == 0 ? Either({Text("[]"), some}) : some;
  }

  StatusOr<ExprId> Object(const ObjectShape& o) {
    Members members;
    members.separator = comma_rule_;
    members.ordered = options_.in_order;
    members.min = std::max(o.min, 1u);
    members.max = o.max;
    std::vector<std::string> keys;
    bool required = false;
    for (const ObjectShape::Named& named : o.named) {
      keys.push_back(named.key);
      if (named.forbidden) continue;
      KRAFLA_ASSIGN_OR_RETURN(const ExprId value, Call(named.value));
      KRAFLA_ASSIGN_OR_RETURN(const ExprId key, Key(named.key));
      members.items.push_back({NewRule(Join({key, colon_, value})), named.required});
      required |= named.required;
    }
    std::vector<ExprId> others;
    for (const ObjectShape::Others& other : o.others) {
      CharDfa allowed = other.keys ? *other.keys : CharDfa::All();
      if (!keys.empty()) {
        KRAFLA_ASSIGN_OR_RETURN(const CharDfa named, CharDfa::FromStrings(keys));
        KRAFLA_ASSIGN_OR_RETURN(allowed, CharDfa::Minus(allowed, named));
      }
      if (allowed.empty()) continue;
      KRAFLA_ASSIGN_OR_RETURN(const ExprId value, Call(other.value));
      const ExprId key = grammar_.Strings(std::move(allowed), ExprKind::kJson);
      others.push_back(Join({Text("\""), key, Text("\""), colon_, value}));
    }
    members.has_rest = !others.empty();
    if (members.has_rest) members.rest = NewRule(grammar_.Choice(others));
    const bool may_be_empty = o.min == 0 && !required;
    if (members.max == 0 || (members.items.empty() && !members.has_rest)) {
      return may_be_empty ? Text("{}") : grammar_.Add({ExprKind::kNothing});
    }
    const ExprId some = Brackets("{", grammar_.AddMembers(std::move(members)), "}");
    return may_be_empty ? Either({Text("{}"), some}) : some;
  }

  StatusOr<ExprId> Key(const std::string& key) {
    const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
      return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
    });
    if (plain) return Text("\"" + key + "\"");
    const std::string keys[] = {key};
    KRAFLA_ASSIGN_OR_RETURN(CharDfa dfa, CharDfa::FromStrings(keys));
    return Join({Text("\""), grammar_.Strings(std::move(dfa), ExprKind::kJson), Text("\"")});
  }

  const SchemaOptions options_;
  SchemaReader reader_;
  Grammar grammar_;
  std::map<Parts, RuleId> rules_;
  std::vector<std::pair<Parts, RuleId>> work_;
  ExprId between_ = 0, colon_ = 0;
  RuleId comma_rule_ = 0;
};

}  // namespace

StatusOr<Grammar> ReadJsonSchema(std::string_view text, const SchemaOptions& options) {
  KRAFLA_ASSIGN_OR_RETURN(const JsonTree tree, JsonTree::Parse(text));
  return SchemaWriter(&tree, options).Run();
}

}  // namespace krafla

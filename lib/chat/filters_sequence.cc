// Filters over sequences and maps.
#include "lib/chat/access.h"
#include "lib/chat/arithmetic.h"
#include "lib/chat/characters.h"
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

StatusOr<Value> LengthFilter(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(size_t n, Length(in, self));
  return Value::Int(static_cast<int64_t>(n));
}

StatusOr<Value> First(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kGenerator)) {
    GeneratorObject& g = self.As<GeneratorObject>();
    if (g.next < g.items.size()) return g.items[g.next++];
  } else if (self.Is(Kind::kString)) {
    if (!self.text().empty()) return GetItem(in, self, Value::Int(0));
  } else {
    KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
    if (!items.empty()) return items[0];
  }
  return in.Undefined("no first item, sequence was empty");
}

StatusOr<Value> Last(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kString) && !self.text().empty()) return GetItem(in, self, Value::Int(-1));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  if (items.empty()) return in.Undefined("no last item, sequence was empty");
  return items.back();
}

StatusOr<Value> ToList(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  return in.List(std::move(items));
}

StatusOr<Value> Reverse(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kString)) return GetSlice(in, self, Value(), Value(), Value::Int(-1));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  std::reverse(items.begin(), items.end());
  return in.Generator(std::move(items));
}

Value Pair(Interpreter& in, const std::pair<Value, Value>& entry) {
  return in.List({entry.first, entry.second}, ListStyle::kTuple);
}

StatusOr<Value> ItemsFilter(Interpreter& in, const Value& self, CallArgs&) {
  std::vector<Value> pairs;
  if (!self.Is(Kind::kUndefined)) {
    if (!self.Is(Kind::kMap))
      return in.Error("filter 'items': got a {}, want a dict", TypeName(self));
    for (const auto& entry : self.As<MapObject>().entries) pairs.push_back(Pair(in, entry));
  }
  return in.Generator(std::move(pairs));
}

Value FoldCase(Interpreter& in, const Value& v, bool case_sensitive) {
  if (case_sensitive || !v.Is(Kind::kString)) return v;
  return in.String(MapCase(v.text(), Case::kLower));
}

// The sorting key of an item: itself, or the values at the paths of attribute ("a,b").
StatusOr<Value> SortKey(Interpreter& in, const Value& item, const Value& attribute,
                        bool case_sensitive) {
  if (!attribute.given() || attribute.Is(Kind::kNone)) return FoldCase(in, item, case_sensitive);
  std::vector<Value> parts;
  if (!attribute.Is(Kind::kString)) {
    KRAFLA_ASSIGN_OR_RETURN(Value part, GetPath(in, item, attribute));
    return FoldCase(in, part, case_sensitive);
  }
  std::string_view rest = attribute.text().view();
  while (true) {
    size_t comma = rest.find(',');
    Value path = in.String(std::string(rest.substr(0, comma)), true);
    KRAFLA_ASSIGN_OR_RETURN(Value part, GetPath(in, item, path));
    parts.push_back(FoldCase(in, part, case_sensitive));
    if (comma == std::string_view::npos) break;
    rest = rest.substr(comma + 1);
  }
  return in.List(std::move(parts));
}

StatusOr<std::vector<Value>> SortKeys(Interpreter& in, const std::vector<Value>& items,
                                      const Value& attribute, bool case_sensitive) {
  std::vector<Value> keys;
  for (const Value& item : items) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    KRAFLA_ASSIGN_OR_RETURN(Value key, SortKey(in, item, attribute, case_sensitive));
    keys.push_back(key);
  }
  return keys;
}

std::vector<Value> Reordered(const std::vector<Value>& items, const std::vector<size_t>& order) {
  std::vector<Value> out;
  for (size_t i : order) out.push_back(items[i]);
  return out;
}

StatusOr<Value> Sort(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> keys,
                          SortKeys(in, items, args.positional[2], Truthy(args.positional[1])));
  // Jinja compares lists of one key, and lists need no order between parts that are equal.
  for (Value& key : keys) key = in.List({key});
  KRAFLA_ASSIGN_OR_RETURN(std::vector<size_t> order,
                          SortOrder(in, keys, Truthy(args.positional[0])));
  return in.List(Reordered(items, order));
}

StatusOr<Value> DictSort(Interpreter& in, const Value& self, CallArgs& args) {
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (!self.Is(Kind::kMap))
    return in.Error("filter 'dictsort': got a {}, want a dict", TypeName(self));
  KRAFLA_ASSIGN_OR_RETURN(const Text* by, TextArgument(in, args.positional[1], "by"));
  bool by_value = by != nullptr && by->view() == "value";
  if (by != nullptr && !by_value && by->view() != "key") {
    return in.Error("filter 'dictsort': by '{}', want 'key' or 'value'", by->view());
  }
  std::vector<Value> pairs;
  std::vector<Value> keys;
  for (const auto& entry : self.As<MapObject>().entries) {
    pairs.push_back(Pair(in, entry));
    keys.push_back(FoldCase(in, by_value ? entry.second : entry.first, Truthy(args.positional[0])));
  }
  KRAFLA_ASSIGN_OR_RETURN(std::vector<size_t> order,
                          SortOrder(in, keys, Truthy(args.positional[2])));
  return in.List(Reordered(pairs, order));
}

StatusOr<Value> Unique(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> keys,
                          SortKeys(in, items, args.positional[1], Truthy(args.positional[0])));
  std::vector<Value> seen;
  std::vector<Value> kept;
  for (size_t i = 0; i < items.size(); ++i) {
    bool known = false;
    for (const Value& key : seen) {
      KRAFLA_ASSIGN_OR_RETURN(known, Equal(in, key, keys[i]));
      if (known) break;
    }
    if (known) continue;
    seen.push_back(keys[i]);
    kept.push_back(items[i]);
  }
  return in.Generator(std::move(kept));
}

template <bool largest>
StatusOr<Value> Extreme(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> keys,
                          SortKeys(in, items, args.positional[1], Truthy(args.positional[0])));
  if (items.empty()) return in.Undefined("no aggregated item, sequence was empty");
  size_t best = 0;
  for (size_t i = 1; i < items.size(); ++i) {
    KRAFLA_ASSIGN_OR_RETURN(
        bool better, largest ? Less(in, keys[best], keys[i]) : Less(in, keys[i], keys[best]));
    if (better) best = i;
  }
  return items[best];
}

StatusOr<Value> Sum(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  Value total = args.positional[1].given() ? args.positional[1] : Value::Int(0);
  const Value& attribute = args.positional[0];
  for (const Value& item : items) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    Value v = item;
    if (attribute.given() && !attribute.Is(Kind::kNone)) {
      KRAFLA_ASSIGN_OR_RETURN(v, GetPath(in, item, attribute));
    }
    KRAFLA_ASSIGN_OR_RETURN(total, Arithmetic(in, Op::kAdd, total, v));
  }
  return total;
}

StatusOr<Value> Batch(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  KRAFLA_ASSIGN_OR_RETURN(int64_t n, IntArgument(in, args.positional[0], "linecount", 1));
  if (n < 1) return in.Error("filter 'batch': linecount {}, want at least 1", n);
  size_t width = static_cast<size_t>(n);
  const Value& fill = args.positional[1];
  bool fills = fill.given() && !fill.Is(Kind::kNone);
  if (fills) KRAFLA_RETURN_IF_ERROR(in.CheckRoom(width, sizeof(Value)));
  std::vector<Value> rows;
  for (size_t i = 0; i < items.size(); i += std::min(width, items.size() - i)) {
    auto begin = items.begin() + static_cast<std::ptrdiff_t>(i);
    auto end = begin + static_cast<std::ptrdiff_t>(std::min(width, items.size() - i));
    std::vector<Value> row(begin, end);
    if (fills) row.resize(width, fill);
    rows.push_back(in.List(std::move(row)));
  }
  return in.Generator(std::move(rows));
}

StatusOr<Value> Slice(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  KRAFLA_ASSIGN_OR_RETURN(int64_t n, IntArgument(in, args.positional[0], "slices", 1));
  if (n < 1) return in.Error("filter 'slice': slices {}, want at least 1", n);
  size_t slices = static_cast<size_t>(n);
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(slices, sizeof(ListObject) + sizeof(Value)));
  size_t longer = items.size() % slices;
  const Value& fill = args.positional[1];
  std::vector<Value> rows;
  size_t begin = 0;
  for (size_t s = 0; s < slices; ++s) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    size_t length = items.size() / slices + (s < longer ? 1 : 0);
    auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
    std::vector<Value> row(first, first + static_cast<std::ptrdiff_t>(length));
    if (fill.given() && !fill.Is(Kind::kNone) && s >= longer) row.push_back(fill);
    rows.push_back(in.List(std::move(row)));
    begin += length;
  }
  return in.Generator(std::move(rows));
}

StatusOr<Value> GroupBy(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  bool case_sensitive = Truthy(args.positional[2]);
  std::vector<Value> names;
  std::vector<Value> keys;
  for (const Value& item : items) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    KRAFLA_ASSIGN_OR_RETURN(Value name, GetPath(in, item, args.positional[0]));
    if (name.Is(Kind::kUndefined) && args.positional[1].given()) name = args.positional[1];
    names.push_back(name);
    keys.push_back(FoldCase(in, name, case_sensitive));
  }
  KRAFLA_ASSIGN_OR_RETURN(std::vector<size_t> order, SortOrder(in, keys, false));
  std::vector<Value> groups;
  for (size_t i = 0; i < order.size();) {
    std::vector<Value> members;
    size_t first = order[i];
    bool same = true;
    while (same) {
      members.push_back(items[order[i]]);
      if (++i == order.size()) break;
      KRAFLA_ASSIGN_OR_RETURN(same, Equal(in, keys[order[i]], keys[first]));
    }
    groups.push_back(in.List({names[first], in.List(std::move(members))}, ListStyle::kGroup));
  }
  return in.List(std::move(groups));
}

StatusOr<Value> Default(Interpreter& in, const Value& self, CallArgs& args) {
  bool replaced = self.Is(Kind::kUndefined) || (Truthy(args.positional[1]) && !Truthy(self));
  if (!replaced) return self;
  return args.positional[0].given() ? args.positional[0] : in.String("", true);
}

StatusOr<Value> Attr(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* name, TextArgument(in, args.positional[0], "name"));
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (name == nullptr) return in.Error("filter 'attr': wants a name");
  if (self.Is(Kind::kMap) && FindMethod(self, name->view()) == nullptr) {
    return in.Undefined(FormatText("'dict object' has no attribute '{}'", name->view()));
  }
  return GetAttribute(in, self, name->view());
}

constexpr Builtin kTable[] = {
    {"length", "", LengthFilter},
    {"count", "", LengthFilter},
    {"first", "", First},
    {"last", "", Last},
    {"list", "", ToList},
    {"reverse", "", Reverse},
    {"items", "", ItemsFilter},
    {"sort", "reverse case_sensitive attribute", Sort},
    {"dictsort", "case_sensitive by reverse", DictSort},
    {"unique", "case_sensitive attribute", Unique},
    {"min", "case_sensitive attribute", Extreme<false>},
    {"max", "case_sensitive attribute", Extreme<true>},
    {"sum", "attribute start", Sum},
    {"batch", "!linecount fill_with", Batch},
    {"slice", "!slices fill_with", Slice},
    {"groupby", "!attribute default case_sensitive", GroupBy},
    {"default", "default_value boolean", Default},
    {"d", "default_value boolean", Default},
    {"attr", "!name", Attr},
};

}  // namespace

std::span<const Builtin> SequenceFilters() { return kTable; }

}  // namespace krafla::chat

// What may follow `is` (and name a test in select).
#include <cmath>

#include "lib/chat/characters.h"
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

template <Kind kind>
StatusOr<Value> IsKind(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(self.Is(kind));
}

StatusOr<Value> Defined(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(!self.Is(Kind::kUndefined));
}

template <bool value>
StatusOr<Value> IsBool(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(self.Is(Kind::kBool) && (self.i != 0) == value);
}

StatusOr<Value> Number(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(self.IsNumber());
}

StatusOr<Value> Sequence(Interpreter&, const Value& self, CallArgs&) {
  // In Python: has a length and can be indexed.
  bool yes = self.Is(Kind::kString) || self.Is(Kind::kMap) || self.Is(Kind::kRange) ||
             self.Is(Kind::kUndefined);
  if (self.Is(Kind::kList)) {
    ListStyle style = self.As<ListObject>().style;
    yes = style == ListStyle::kList || style == ListStyle::kTuple || style == ListStyle::kGroup;
  }
  return Value::Bool(yes);
}

StatusOr<Value> Iterable(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(self.Is(Kind::kString) || self.Is(Kind::kMap) || self.Is(Kind::kRange) ||
                     self.Is(Kind::kUndefined) || self.Is(Kind::kList) ||
                     self.Is(Kind::kGenerator) || self.Is(Kind::kLoop));
}

StatusOr<Value> Callable(Interpreter&, const Value& self, CallArgs&) {
  return Value::Bool(self.kind >= Kind::kLoop || self.Is(Kind::kUndefined));
}

template <int remainder>
StatusOr<Value> Parity(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (self.Is(Kind::kFloat)) {
    double rest = std::fmod(self.d, 2.0);
    return Value::Bool((rest < 0 ? rest + 2 : rest) == remainder);
  }
  if (!self.IsInteger())
    return in.Error("test for parity: got a {}, want a number", TypeName(self));
  return Value::Bool((self.i & 1) == remainder);
}

StatusOr<Value> DivisibleBy(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(int64_t divisor, IntArgument(in, args.positional[0], "num", 0));
  if (!self.IsInteger())
    return in.Error("test 'divisibleby': got a {}, want an int", TypeName(self));
  if (divisor == 0) return in.Error("test 'divisibleby': division by zero");
  return Value::Bool(divisor == -1 || self.i % divisor == 0);
}

template <Comparison comparison>
StatusOr<Value> Compared(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(bool holds, CompareValues(in, comparison, self, args.positional[0]));
  return Value::Bool(holds);
}

StatusOr<Value> SameAs(Interpreter&, const Value& self, CallArgs& args) {
  const Value& other = args.positional[0];
  return Value::Bool(self.kind == other.kind && KeysEqual(self, other));
}

template <bool upper>
StatusOr<Value> AllCase(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  bool any = false;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    uint32_t c = CodePointAt(text.view(), i);
    if (upper ? IsLower(c) : IsUpper(c)) return Value::Bool(false);
    any = any || IsUpper(c) || IsLower(c);
  }
  return Value::Bool(any);
}

template <bool filters>
StatusOr<Value> NamesBuiltin(Interpreter&, const Value& self, CallArgs&) {
  if (!self.Is(Kind::kString)) return Value::Bool(false);
  std::string_view name = self.text().view();
  return Value::Bool((filters ? FindFilter(name) : FindTest(name)) != nullptr);
}

StatusOr<Value> Escaped(Interpreter&, const Value&, CallArgs&) { return Value::Bool(false); }

constexpr Builtin kTable[] = {
    {"defined", "", Defined},
    {"undefined", "", IsKind<Kind::kUndefined>},
    {"none", "", IsKind<Kind::kNone>},
    {"boolean", "", IsKind<Kind::kBool>},
    {"true", "", IsBool<true>},
    {"false", "", IsBool<false>},
    {"integer", "", IsKind<Kind::kInt>},
    {"float", "", IsKind<Kind::kFloat>},
    {"number", "", Number},
    {"string", "", IsKind<Kind::kString>},
    {"mapping", "", IsKind<Kind::kMap>},
    {"sequence", "", Sequence},
    {"iterable", "", Iterable},
    {"callable", "", Callable},
    {"odd", "", Parity<1>},
    {"even", "", Parity<0>},
    {"divisibleby", "!num", DivisibleBy},
    {"eq", "!other", Compared<kEq>},
    {"equalto", "!other", Compared<kEq>},
    {"==", "!other", Compared<kEq>},
    {"ne", "!other", Compared<kNe>},
    {"!=", "!other", Compared<kNe>},
    {"lt", "!other", Compared<kLt>},
    {"lessthan", "!other", Compared<kLt>},
    {"<", "!other", Compared<kLt>},
    {"le", "!other", Compared<kLe>},
    {"<=", "!other", Compared<kLe>},
    {"gt", "!other", Compared<kGt>},
    {"greaterthan", "!other", Compared<kGt>},
    {">", "!other", Compared<kGt>},
    {"ge", "!other", Compared<kGe>},
    {">=", "!other", Compared<kGe>},
    {"in", "!seq", Compared<kIn>},
    {"sameas", "!other", SameAs},
    {"lower", "", AllCase<false>},
    {"upper", "", AllCase<true>},
    {"filter", "", NamesBuiltin<true>},
    {"test", "", NamesBuiltin<false>},
    {"escaped", "", Escaped},
};

}  // namespace

std::span<const Builtin> Tests() { return kTable; }

}  // namespace krafla::chat

// Methods of str that ask about it, and the methods of dict and list that leave them unchanged.
#include <algorithm>

#include "lib/chat/characters.h"
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

// The window [start, end) of a text, in bytes; false when start lies beyond the end.
struct Window {
  size_t begin = 0;
  size_t end = 0;
  bool valid = true;
};

StatusOr<Window> ArgumentWindow(Interpreter& in, const Text& text, const Value& start,
                                const Value& stop) {
  Window w{0, text.size(), true};
  if (!start.given() && !stop.given()) return w;
  int64_t length = static_cast<int64_t>(CountCodePoints(text.view()));
  KRAFLA_ASSIGN_OR_RETURN(int64_t from, IntArgument(in, start, "start", 0));
  KRAFLA_ASSIGN_OR_RETURN(int64_t to, IntArgument(in, stop, "end", length));
  if (from < 0) from = std::max<int64_t>(from + length, 0);
  if (to < 0) to = std::max<int64_t>(to + length, 0);
  to = std::min(to, length);
  w.valid = from <= to;
  if (!w.valid) return w;
  w.begin = CodePointOffset(text.view(), static_cast<size_t>(from));
  w.end = CodePointOffset(text.view(), static_cast<size_t>(to));
  return w;
}

template <bool starts>
StatusOr<Value> HasAffix(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Window w,
                          ArgumentWindow(in, self.text(), args.positional[1], args.positional[2]));
  std::vector<Value> affixes{args.positional[0]};
  if (affixes[0].Is(Kind::kList) && affixes[0].As<ListObject>().style == ListStyle::kTuple) {
    affixes = affixes[0].items();
  }
  if (!w.valid) return Value::Bool(false);
  std::string_view s = self.text().view().substr(w.begin, w.end - w.begin);
  for (const Value& affix : affixes) {
    if (affix.Is(Kind::kUndefined)) return in.UndefinedError(affix);
    if (!affix.Is(Kind::kString))
      return in.Error("got a {}, want a str or a tuple of str", TypeName(affix));
    std::string_view a = affix.text().view();
    if (starts ? s.starts_with(a) : s.ends_with(a)) return Value::Bool(true);
  }
  return Value::Bool(false);
}

template <bool from_right, bool must_exist>
StatusOr<Value> Find(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* sub, TextArgument(in, args.positional[0], "sub"));
  KRAFLA_ASSIGN_OR_RETURN(Window w,
                          ArgumentWindow(in, self.text(), args.positional[1], args.positional[2]));
  if (sub == nullptr) return in.Error("got None, want a str");
  std::string_view s = self.text().view();
  KRAFLA_RETURN_IF_ERROR(in.Step(s.size() / 1024));
  size_t found = std::string_view::npos;
  if (w.valid) {
    std::string_view inside = s.substr(w.begin, w.end - w.begin);
    found = from_right ? inside.rfind(sub->view()) : FindText(inside, sub->view(), 0);
  }
  if (found == std::string_view::npos) {
    if (must_exist) return in.Error("substring not found");
    return Value::Int(-1);
  }
  return Value::Int(static_cast<int64_t>(CountCodePoints(s.substr(0, w.begin + found))));
}

StatusOr<Value> CountText(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* sub, TextArgument(in, args.positional[0], "sub"));
  KRAFLA_ASSIGN_OR_RETURN(Window w,
                          ArgumentWindow(in, self.text(), args.positional[1], args.positional[2]));
  if (sub == nullptr) return in.Error("got None, want a str");
  if (!w.valid) return Value::Int(0);
  std::string_view s = self.text().view().substr(w.begin, w.end - w.begin);
  KRAFLA_RETURN_IF_ERROR(in.Step(s.size() / 1024));
  if (sub->empty()) return Value::Int(static_cast<int64_t>(CountCodePoints(s)) + 1);
  int64_t n = 0;
  for (size_t i = 0; (i = FindText(s, sub->view(), i)) != std::string_view::npos; i += sub->size())
    ++n;
  return Value::Int(n);
}

bool IsAscii(uint32_t c) { return c < 0x80; }
bool IsAlnum(uint32_t c) { return IsAlpha(c) || IsDigit(c); }

template <bool (*holds)(uint32_t), bool of_empty>
StatusOr<Value> AllCharacters(Interpreter&, const Value& self, CallArgs&) {
  std::string_view s = self.text().view();
  for (size_t i = 0; i < s.size(); i = NextCodePoint(s, i)) {
    if (!holds(CodePointAt(s, i))) return Value::Bool(false);
  }
  return Value::Bool(of_empty || !s.empty());
}

template <bool upper>
StatusOr<Value> CaseQuery(Interpreter&, const Value& self, CallArgs&) {
  std::string_view s = self.text().view();
  bool any = false;
  for (size_t i = 0; i < s.size(); i = NextCodePoint(s, i)) {
    uint32_t c = CodePointAt(s, i);
    if (upper ? IsLower(c) : IsUpper(c)) return Value::Bool(false);
    any = any || IsUpper(c) || IsLower(c);
  }
  return Value::Bool(any);
}

StatusOr<Value> Get(Interpreter&, const Value& self, CallArgs& args) {
  const Value* found = self.As<MapObject>().Find(args.positional[0]);
  if (found != nullptr) return *found;
  return args.positional[1].given() ? args.positional[1] : Value::None();
}

template <ListStyle style>
StatusOr<Value> View(Interpreter& in, const Value& self, CallArgs&) {
  std::vector<Value> items;
  for (const auto& [key, value] : self.As<MapObject>().entries) {
    items.push_back(style == ListStyle::kKeys     ? key
                    : style == ListStyle::kValues ? value
                                                  : in.List({key, value}, ListStyle::kTuple));
  }
  return in.List(std::move(items), style);
}

StatusOr<Value> Copy(Interpreter&, const Value& self, CallArgs&) { return self; }

StatusOr<Value> Index(Interpreter& in, const Value& self, CallArgs& args) {
  const std::vector<Value>& items = self.items();
  for (size_t i = 0; i < items.size(); ++i) {
    KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, items[i], args.positional[0]));
    if (equal) return Value::Int(static_cast<int64_t>(i));
  }
  return in.Error("method 'index': value is not in the list");
}

StatusOr<Value> CountItems(Interpreter& in, const Value& self, CallArgs& args) {
  int64_t n = 0;
  for (const Value& item : self.items()) {
    KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, item, args.positional[0]));
    n += equal;
  }
  return Value::Int(n);
}

constexpr Builtin kOfString[] = {
    {"startswith", "!prefix start end", HasAffix<true>},
    {"endswith", "!suffix start end", HasAffix<false>},
    {"find", "!sub start end", Find<false, false>},
    {"rfind", "!sub start end", Find<true, false>},
    {"index", "!sub start end", Find<false, true>},
    {"rindex", "!sub start end", Find<true, true>},
    {"count", "!sub start end", CountText},
    {"isdigit", "", AllCharacters<IsDigit, false>},
    {"isdecimal", "", AllCharacters<IsDigit, false>},
    {"isnumeric", "", AllCharacters<IsDigit, false>},
    {"isalpha", "", AllCharacters<IsAlpha, false>},
    {"isalnum", "", AllCharacters<IsAlnum, false>},
    {"isspace", "", AllCharacters<IsSpace, false>},
    {"isascii", "", AllCharacters<IsAscii, true>},
    {"isprintable", "", AllCharacters<IsPrintable, true>},
    {"isupper", "", CaseQuery<true>},
    {"islower", "", CaseQuery<false>},
};

constexpr Builtin kOfMap[] = {
    {"get", "!key default", Get},
    {"keys", "", View<ListStyle::kKeys>},
    {"values", "", View<ListStyle::kValues>},
    {"items", "", View<ListStyle::kItems>},
    {"copy", "", Copy},
};

constexpr Builtin kOfList[] = {
    {"index", "!value", Index},
    {"count", "!value", CountItems},
    {"copy", "", Copy},
};

}  // namespace

std::span<const Builtin> StringPredicates() { return kOfString; }
std::span<const Builtin> MapMethods() { return kOfMap; }
std::span<const Builtin> ListMethods() { return kOfList; }

}  // namespace krafla::chat

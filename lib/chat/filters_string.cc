// Filters from text to text, and tojson.
#include "lib/chat/characters.h"
#include "lib/chat/convert.h"
#include "lib/chat/format.h"
#include "lib/chat/json_out.h"
#include "lib/chat/string_operations.h"

namespace krafla::chat {
namespace {

template <Case to>
StatusOr<Value> ChangeCase(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  return in.String(MapCase(text, to));
}

StatusOr<Value> CapitalizeFilter(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  return in.String(Capitalize(text));
}

StatusOr<Value> Title(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  Text out;
  bool starts = true;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    uint32_t c = CodePointAt(text.view(), i);
    // Jinja's word breaks: `-`, white space and opening brackets, not the apostrophe.
    bool breaks = c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || IsSpace(c);
    AppendMapped(text, i, starts ? Case::kUpper : Case::kLower, &out);
    starts = breaks;
  }
  return in.String(std::move(out));
}

StatusOr<Value> Trim(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  KRAFLA_ASSIGN_OR_RETURN(const Text* chars, TextArgument(in, args.positional[0], "chars"));
  return in.String(Strip(text, chars, true, true));
}

StatusOr<Value> Replace(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  KRAFLA_ASSIGN_OR_RETURN(Text from, ToText(in, args.positional[0]));
  KRAFLA_ASSIGN_OR_RETURN(Text to, ToText(in, args.positional[1]));
  KRAFLA_ASSIGN_OR_RETURN(int64_t limit, IntArgument(in, args.positional[2], "count", -1));
  KRAFLA_ASSIGN_OR_RETURN(Text out, ReplaceText(in, text, from, to, limit));
  return in.String(std::move(out));
}

StatusOr<Value> ToString(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kString)) return self;
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  return in.String(std::move(text));
}

StatusOr<Value> Escape(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text.bytes()[i];
    std::string_view entity = c == '&'    ? "&amp;"
                              : c == '<'  ? "&lt;"
                              : c == '>'  ? "&gt;"
                              : c == '"'  ? "&#34;"
                              : c == '\'' ? "&#39;"
                                          : std::string_view();
    if (entity.empty()) {
      out.Append(text, i, i + 1);
    } else {
      out.Append(entity, text.TrustedAt(i));
    }
  }
  return in.String(std::move(out));
}

StatusOr<Value> UrlEncode(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = static_cast<unsigned char>(text.bytes()[i]);
    bool kept = c < 0x80 && (IsAlpha(c) || IsDigit(c) ||
                             std::string_view("_.-~/").find(static_cast<char>(c)) < 5);
    if (kept) {
      out.Append(text, i, i + 1);
    } else {
      out.Append(FormatText("%{:02X}", c), text.TrustedAt(i));
    }
  }
  return in.String(std::move(out));
}

StatusOr<Value> FormatFilter(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  if (!args.named.empty() && !args.positional.empty()) {
    return in.Error("filter 'format': positional and named arguments at once");
  }
  if (args.named.empty()) {
    return PercentFormat(in, text, in.List(args.positional, ListStyle::kTuple));
  }
  MapObject* map = in.heap().New<MapObject>(args.named.size() * sizeof(Value) * 3);
  for (size_t i = 0; i < args.named.size(); ++i) {
    const auto& [name, value] = args.named[i];
    map->Set(in.String(std::string(name), i < args.n_own_named), value);
  }
  return PercentFormat(in, text, Value::Of(Kind::kMap, map));
}

StatusOr<Value> ToJsonFilter(Interpreter& in, const Value& self, CallArgs& args) {
  JsonStyle style;
  style.ensure_ascii = Truthy(args.positional[0]);
  const Value& indent = args.positional[1];
  if (indent.Is(Kind::kString)) {
    style.indent = indent.text().bytes();
  } else if (indent.given() && !indent.Is(Kind::kNone)) {
    KRAFLA_ASSIGN_OR_RETURN(int64_t width, IntArgument(in, indent, "indent", 0));
    if (width > 64) return in.Error("tojson: indent {} is more than 64", width);
    style.indent = std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' ');
  }
  if (style.indent) style.item_separator = ",";
  const Value& separators = args.positional[2];
  if (separators.given() && !separators.Is(Kind::kNone)) {
    KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> pair, Items(in, separators));
    if (pair.size() != 2 || !pair[0].Is(Kind::kString) || !pair[1].Is(Kind::kString)) {
      return in.Error("tojson: separators must be two strings");
    }
    style.item_separator = pair[0].text().bytes();
    style.key_separator = pair[1].text().bytes();
  }
  style.sort_keys = Truthy(args.positional[3]);
  return ToJson(in, self, style);
}

constexpr Builtin kTable[] = {
    {"upper", "", ChangeCase<Case::kUpper>},
    {"lower", "", ChangeCase<Case::kLower>},
    {"title", "", Title},
    {"capitalize", "", CapitalizeFilter},
    {"trim", "chars", Trim},
    {"replace", "!old !new count", Replace},
    {"string", "", ToString},
    {"safe", "", ToString},
    {"escape", "", Escape},
    {"e", "", Escape},
    {"forceescape", "", Escape},
    {"urlencode", "", UrlEncode},
    {"format", "*", FormatFilter},
    {"tojson", "ensure_ascii indent separators sort_keys", ToJsonFilter},
};

}  // namespace

std::span<const Builtin> StringFilters() { return kTable; }

}  // namespace krafla::chat

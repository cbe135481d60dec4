// Filters that lay text out: indent, center, truncate, join, wordcount.
#include "lib/chat/access.h"
#include "lib/chat/characters.h"
#include "lib/chat/convert.h"
#include "lib/chat/string_operations.h"

namespace krafla::chat {
namespace {

StatusOr<Value> Indent(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  Text indentation;
  if (args.positional[0].Is(Kind::kString)) {
    indentation = args.positional[0].text();
  } else {
    KRAFLA_ASSIGN_OR_RETURN(int64_t width, IntArgument(in, args.positional[0], "width", 4));
    KRAFLA_RETURN_IF_ERROR(in.CheckRoom(static_cast<size_t>(std::max<int64_t>(width, 0))));
    indentation.Append(std::string(static_cast<size_t>(std::max<int64_t>(width, 0)), ' '), true);
  }
  bool first = Truthy(args.positional[1]);
  bool blank = Truthy(args.positional[2]);
  // One more line end, as in Jinja, so that a last empty line counts as a line.
  Text padded = text;
  padded.Append("\n", true);
  auto lines = SplitLines(padded.view(), false);
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(lines.size(), indentation.size() + 1));
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    auto [begin, end] = lines[i];
    if (i > 0) out.Append("\n", padded.TrustedAt(begin - 1));
    if (i == 0 ? first : (blank || begin < end)) out.Append(indentation);
    out.Append(padded, begin, end);
  }
  return in.String(std::move(out));
}

StatusOr<Value> Center(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  KRAFLA_ASSIGN_OR_RETURN(int64_t width, IntArgument(in, args.positional[0], "width", 80));
  KRAFLA_ASSIGN_OR_RETURN(Text out, Pad(in, text, width, Text(" ", true), '^'));
  return in.String(std::move(out));
}

StatusOr<Value> Truncate(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  KRAFLA_ASSIGN_OR_RETURN(int64_t length, IntArgument(in, args.positional[0], "length", 255));
  KRAFLA_ASSIGN_OR_RETURN(const Text* given_end, TextArgument(in, args.positional[2], "end"));
  KRAFLA_ASSIGN_OR_RETURN(int64_t leeway, IntArgument(in, args.positional[3], "leeway", 5));
  Text end = given_end == nullptr ? Text("...", true) : *given_end;
  int64_t end_length = static_cast<int64_t>(CountCodePoints(end.view()));
  if (length < end_length || leeway < 0) {
    return in.Error("filter 'truncate': expected length >= {}, got {}", end_length, length);
  }
  int64_t size = static_cast<int64_t>(CountCodePoints(text.view()));
  if (size <= length || size - length <= leeway) return in.String(std::move(text));
  size_t cut = CodePointOffset(text.view(), static_cast<size_t>(length - end_length));
  if (!Truthy(args.positional[1])) {
    size_t blank = cut == 0 ? std::string_view::npos : text.view().rfind(' ', cut - 1);
    if (blank != std::string_view::npos) cut = blank;
  }
  Text out = text.Slice(0, cut);
  out.Append(end);
  return in.String(std::move(out));
}

StatusOr<Value> WordCount(Interpreter& in, const Value& self, CallArgs&) {
  KRAFLA_ASSIGN_OR_RETURN(Text text, ToText(in, self));
  int64_t words = 0;
  bool inside = false;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    uint32_t c = CodePointAt(text.view(), i);
    bool part = c == '_' || IsAlpha(c) || IsDigit(c);
    words += part && !inside;
    inside = part;
  }
  return Value::Int(words);
}

StatusOr<Value> Join(Interpreter& in, const Value& self, CallArgs& args) {
  Text separator;
  if (args.positional[0].given()) {
    KRAFLA_ASSIGN_OR_RETURN(separator, ToText(in, args.positional[0]));
  }
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  const Value& attribute = args.positional[1];
  if (attribute.given() && !attribute.Is(Kind::kNone)) {
    for (Value& item : items) {
      KRAFLA_ASSIGN_OR_RETURN(item, GetPath(in, item, attribute));
    }
  }
  KRAFLA_ASSIGN_OR_RETURN(Text out, JoinValues(in, separator, items));
  return in.String(std::move(out));
}

constexpr Builtin kTable[] = {
    {"indent", "width first blank", Indent},
    {"center", "width", Center},
    {"truncate", "length killwords end leeway", Truncate},
    {"wordcount", "", WordCount},
    {"join", "d attribute", Join},
};

}  // namespace

std::span<const Builtin> TextLayoutFilters() { return kTable; }

}  // namespace krafla::chat

// Methods of str that build text.
#include <algorithm>

#include "lib/chat/characters.h"
#include "lib/chat/convert.h"
#include "lib/chat/format.h"
#include "lib/chat/string_operations.h"

namespace krafla::chat {
namespace {

template <bool left, bool right>
StatusOr<Value> StripMethod(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* chars, TextArgument(in, args.positional[0], "chars"));
  return in.String(Strip(self.text(), chars, left, right));
}

// The pieces between separators as byte ranges, at most limit + 1 of them when limit >= 0.
using Ranges = std::vector<std::pair<size_t, size_t>>;

Ranges SplitAtSeparator(std::string_view s, std::string_view separator, int64_t limit) {
  Ranges out;
  size_t begin = 0;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    size_t found = FindText(s, separator, begin);
    if (found == std::string_view::npos) break;
    out.emplace_back(begin, found);
    begin = found + separator.size();
  }
  out.emplace_back(begin, s.size());
  return out;
}

Ranges SplitAtSeparatorFromRight(std::string_view s, std::string_view separator, int64_t limit) {
  Ranges out;
  size_t end = s.size();
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    size_t found =
        end < separator.size() ? std::string_view::npos : s.substr(0, end).rfind(separator);
    if (found == std::string_view::npos) break;
    out.emplace_back(found + separator.size(), end);
    end = found;
  }
  out.emplace_back(0, end);
  std::reverse(out.begin(), out.end());
  return out;
}

Ranges SplitAtSpace(std::string_view s, int64_t limit) {
  Ranges out;
  size_t i = StripRange(s, nullptr, true, false).first;
  while (i < s.size()) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.emplace_back(i, s.size());
      break;
    }
    size_t end = i;
    while (end < s.size() && !IsSpace(CodePointAt(s, end))) end = NextCodePoint(s, end);
    out.emplace_back(i, end);
    i = end + StripRange(s.substr(end), nullptr, true, false).first;
  }
  return out;
}

Ranges SplitAtSpaceFromRight(std::string_view s, int64_t limit) {
  Ranges out;
  size_t end = StripRange(s, nullptr, false, true).second;
  while (end > 0) {
    if (limit >= 0 && static_cast<int64_t>(out.size()) == limit) {
      out.emplace_back(0, end);
      break;
    }
    size_t begin = end;
    while (begin > 0) {
      size_t previous = PreviousCodePoint(s, begin);
      if (IsSpace(CodePointAt(s, previous))) break;
      begin = previous;
    }
    out.emplace_back(begin, end);
    end = StripRange(s.substr(0, begin), nullptr, false, true).second;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

StatusOr<Value> Pieces(Interpreter& in, const Text& text, const Ranges& ranges) {
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(ranges.size(), sizeof(StringObject) + sizeof(Value)));
  std::vector<Value> items;
  for (auto [begin, end] : ranges) items.push_back(in.String(text.Slice(begin, end)));
  return in.List(std::move(items));
}

template <bool from_right>
StatusOr<Value> Split(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* separator, TextArgument(in, args.positional[0], "sep"));
  KRAFLA_ASSIGN_OR_RETURN(int64_t limit, IntArgument(in, args.positional[1], "maxsplit", -1));
  const Text& text = self.text();
  KRAFLA_RETURN_IF_ERROR(in.Step(text.size() / 1024));
  if (separator == nullptr) {
    return Pieces(
        in, text,
        from_right ? SplitAtSpaceFromRight(text.view(), limit) : SplitAtSpace(text.view(), limit));
  }
  if (separator->empty()) return in.Error("empty separator");
  return Pieces(in, text,
                from_right ? SplitAtSeparatorFromRight(text.view(), separator->view(), limit)
                           : SplitAtSeparator(text.view(), separator->view(), limit));
}

StatusOr<Value> SplitLinesMethod(Interpreter& in, const Value& self, CallArgs& args) {
  return Pieces(in, self.text(), SplitLines(self.text().view(), Truthy(args.positional[0])));
}

template <bool from_right>
StatusOr<Value> Partition(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* separator, TextArgument(in, args.positional[0], "sep"));
  if (separator == nullptr || separator->empty()) return in.Error("empty separator");
  const Text& text = self.text();
  size_t found = from_right ? text.view().rfind(separator->view())
                            : FindText(text.view(), separator->view(), 0);
  Value empty = in.String("", true);
  if (found == std::string_view::npos) {
    return from_right ? in.List({empty, empty, self}, ListStyle::kTuple)
                      : in.List({self, empty, empty}, ListStyle::kTuple);
  }
  return in.List({in.String(text.Slice(0, found)), args.positional[0],
                  in.String(text.Slice(found + separator->size(), text.size()))},
                 ListStyle::kTuple);
}

template <Case to>
StatusOr<Value> CaseMethod(Interpreter& in, const Value& self, CallArgs&) {
  return in.String(MapCase(self.text(), to));
}

StatusOr<Value> TitleMethod(Interpreter& in, const Value& self, CallArgs&) {
  const Text& text = self.text();
  Text out;
  bool after_letter = false;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    AppendMapped(text, i, after_letter ? Case::kLower : Case::kTitle, &out);
    after_letter = IsAlpha(CodePointAt(text.view(), i));
  }
  return in.String(std::move(out));
}

StatusOr<Value> CapitalizeMethod(Interpreter& in, const Value& self, CallArgs&) {
  return in.String(Capitalize(self.text()));
}

StatusOr<Value> SwapCase(Interpreter& in, const Value& self, CallArgs&) {
  const Text& text = self.text();
  Text out;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    AppendMapped(text, i, IsUpper(CodePointAt(text.view(), i)) ? Case::kLower : Case::kUpper, &out);
  }
  return in.String(std::move(out));
}

StatusOr<Value> ReplaceMethod(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* from, TextArgument(in, args.positional[0], "old"));
  KRAFLA_ASSIGN_OR_RETURN(const Text* to, TextArgument(in, args.positional[1], "new"));
  KRAFLA_ASSIGN_OR_RETURN(int64_t limit, IntArgument(in, args.positional[2], "count", -1));
  if (from == nullptr || to == nullptr) return in.Error("method 'replace': wants two strings");
  KRAFLA_ASSIGN_OR_RETURN(Text out, ReplaceText(in, self.text(), *from, *to, limit));
  return in.String(std::move(out));
}

StatusOr<Value> JoinMethod(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, args.positional[0]));
  for (const Value& item : items) {
    if (!item.Is(Kind::kString)) {
      return in.Error("method 'join': got a {} among the items, want str", TypeName(item));
    }
  }
  KRAFLA_ASSIGN_OR_RETURN(Text out, JoinValues(in, self.text(), items));
  return in.String(std::move(out));
}

StatusOr<Value> FormatMethod(Interpreter& in, const Value& self, CallArgs& args) {
  return BraceFormat(in, self.text(), args);
}

template <bool prefix>
StatusOr<Value> RemoveAffix(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* affix, TextArgument(in, args.positional[0], "affix"));
  if (affix == nullptr) return in.Error("got None, want a str");
  const Text& text = self.text();
  if (affix->empty()) return self;
  if (prefix && text.view().starts_with(affix->view())) {
    return in.String(text.Slice(affix->size(), text.size()));
  }
  if (!prefix && text.view().ends_with(affix->view())) {
    return in.String(text.Slice(0, text.size() - affix->size()));
  }
  return self;
}

template <char align>
StatusOr<Value> PadMethod(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(int64_t width, IntArgument(in, args.positional[0], "width", 0));
  KRAFLA_ASSIGN_OR_RETURN(const Text* fill, TextArgument(in, args.positional[1], "fillchar"));
  Text blank(" ", true);
  KRAFLA_ASSIGN_OR_RETURN(Text out,
                          Pad(in, self.text(), width, fill == nullptr ? blank : *fill, align));
  return in.String(std::move(out));
}

StatusOr<Value> ZeroFill(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(int64_t width, IntArgument(in, args.positional[0], "width", 0));
  const Text& text = self.text();
  size_t sign = !text.empty() && (text.bytes()[0] == '-' || text.bytes()[0] == '+') ? 1 : 0;
  KRAFLA_ASSIGN_OR_RETURN(
      Text rest,
      Pad(in, text.Slice(sign, text.size()),
          std::max<int64_t>(width, INT32_MIN) - static_cast<int64_t>(sign), Text("0", true), '>'));
  Text out = text.Slice(0, sign);
  out.Append(rest);
  return in.String(std::move(out));
}

constexpr Builtin kTable[] = {
    {"strip", "chars", StripMethod<true, true>},
    {"lstrip", "chars", StripMethod<true, false>},
    {"rstrip", "chars", StripMethod<false, true>},
    {"split", "sep maxsplit", Split<false>},
    {"rsplit", "sep maxsplit", Split<true>},
    {"splitlines", "keepends", SplitLinesMethod},
    {"partition", "!sep", Partition<false>},
    {"rpartition", "!sep", Partition<true>},
    {"upper", "", CaseMethod<Case::kUpper>},
    {"lower", "", CaseMethod<Case::kLower>},
    {"casefold", "", CaseMethod<Case::kLower>},
    {"title", "", TitleMethod},
    {"capitalize", "", CapitalizeMethod},
    {"swapcase", "", SwapCase},
    {"replace", "!old !new count", ReplaceMethod},
    {"join", "!iterable", JoinMethod},
    {"format", "*", FormatMethod},
    {"removeprefix", "!prefix", RemoveAffix<true>},
    {"removesuffix", "!suffix", RemoveAffix<false>},
    {"ljust", "!width fillchar", PadMethod<'<'>},
    {"rjust", "!width fillchar", PadMethod<'>'>},
    {"center", "!width fillchar", PadMethod<'^'>},
    {"zfill", "!width", ZeroFill},
};

}  // namespace

std::span<const Builtin> StringMethods() { return kTable; }

}  // namespace krafla::chat

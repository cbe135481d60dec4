// Replacing, joining and padding with trust kept.
#include "lib/chat/string_operations.h"

#include "lib/chat/characters.h"
#include "lib/chat/convert.h"

namespace krafla::chat {

StatusOr<Text> ReplaceText(Interpreter& in, const Text& text, const Text& from, const Text& to,
                           int64_t limit) {
  std::string_view view = text.view();
  KRAFLA_RETURN_IF_ERROR(in.Step(view.size() / 1024));
  Text out;
  size_t done = 0;
  size_t position = 0;
  while (limit != 0) {
    size_t found = from.empty() ? position : FindText(view, from.view(), position);
    if (found == std::string_view::npos || found > view.size()) break;
    out.Append(text, done, found);
    out.Append(to);
    KRAFLA_RETURN_IF_ERROR(in.CheckRoom(out.memory()));
    done = found + from.size();
    if (limit > 0) --limit;
    if (!from.empty()) {
      position = done;
    } else if (found == view.size()) {
      break;
    } else {
      position = NextCodePoint(view, found);
    }
  }
  out.Append(text, done, text.size());
  return out;
}

Text Capitalize(const Text& text) {
  Text out;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    AppendMapped(text, i, i == 0 ? Case::kTitle : Case::kLower, &out);
  }
  return out;
}

Text Strip(const Text& text, const Text* chars, bool left, bool right) {
  std::string_view set = chars == nullptr ? std::string_view() : chars->view();
  auto [begin, end] = StripRange(text.view(), chars == nullptr ? nullptr : &set, left, right);
  return text.Slice(begin, end);
}

StatusOr<Text> JoinValues(Interpreter& in, const Text& separator, const std::vector<Value>& items) {
  Text out;
  for (size_t i = 0; i < items.size(); ++i) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    if (i > 0) out.Append(separator);
    KRAFLA_RETURN_IF_ERROR(AppendStr(in, items[i], &out));
    if (out.memory() > in.limits().value_bytes) return in.CheckRoom(out.memory());
  }
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(out.memory()));
  return out;
}

StatusOr<Text> Pad(Interpreter& in, const Text& text, int64_t width, const Text& fill, char align) {
  int64_t length = static_cast<int64_t>(CountCodePoints(text.view()));
  if (width <= length) return text;
  if (CountCodePoints(fill.view()) != 1)
    return in.Error("the fill character must be one character");
  size_t missing = static_cast<size_t>(width - length);
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(missing, fill.size()));
  // str.center puts the odd character before the text when the width is odd too.
  size_t before = align == '<'   ? 0
                  : align == '>' ? missing
                                 : missing / 2 + (missing & static_cast<size_t>(width) & 1);
  Text out;
  for (size_t i = 0; i < before; ++i) out.Append(fill);
  out.Append(text);
  for (size_t i = before; i < missing; ++i) out.Append(fill);
  return out;
}

}  // namespace krafla::chat

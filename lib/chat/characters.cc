// Character classes by utf8proc's tables; white space and line breaks are short enough to list.
#include "lib/chat/characters.h"

#include <utf8proc.h>

#include "lib/base/utf8.h"

namespace krafla::chat {
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

utf8proc_category_t Category(uint32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

}  // namespace

size_t CountCodePoints(std::string_view text) {
  size_t n = 0;
  for (char c : text) n += !IsContinuation(c);
  return n;
}

size_t CodePointOffset(std::string_view text, size_t index) {
  size_t offset = 0;
  while (index > 0 && offset < text.size()) {
    offset = NextCodePoint(text, offset);
    --index;
  }
  return offset;
}

size_t NextCodePoint(std::string_view text, size_t offset) {
  ++offset;
  while (offset < text.size() && IsContinuation(text[offset])) ++offset;
  return offset;
}

size_t PreviousCodePoint(std::string_view text, size_t offset) {
  --offset;
  while (offset > 0 && IsContinuation(text[offset])) --offset;
  return offset;
}

uint32_t CodePointAt(std::string_view text, size_t offset) {
  unsigned char c = static_cast<unsigned char>(text[offset]);
  return c < 0x80 ? c : DecodeUtf8(text.substr(offset)).value;
}

bool IsSpace(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

bool IsLineBreak(uint32_t c) {
  return (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

bool IsAlpha(uint32_t c) {
  utf8proc_category_t category = Category(c);
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool IsDigit(uint32_t c) { return Category(c) == UTF8PROC_CATEGORY_ND; }
bool IsUpper(uint32_t c) { return Category(c) == UTF8PROC_CATEGORY_LU; }
bool IsLower(uint32_t c) { return Category(c) == UTF8PROC_CATEGORY_LL; }

bool IsPrintable(uint32_t c) {
  if (c == ' ') return true;
  utf8proc_category_t category = Category(c);
  return category != UTF8PROC_CATEGORY_CN && category < UTF8PROC_CATEGORY_ZS;
}

void AppendMapped(const Text& text, size_t offset, Case to, Text* out) {
  uint32_t c = CodePointAt(text.view(), offset);
  const bool trusted = text.TrustedAt(offset);
  if (c == 0xDF && to != Case::kLower) {
    // The one common letter whose capital is two letters.
    out->Append(to == Case::kUpper ? "SS" : "Ss", trusted);
    return;
  }
  utf8proc_int32_t point = static_cast<utf8proc_int32_t>(c);
  utf8proc_int32_t m = to == Case::kUpper   ? utf8proc_toupper(point)
                       : to == Case::kLower ? utf8proc_tolower(point)
                                            : utf8proc_totitle(point);
  std::string mapped;
  AppendUtf8(static_cast<uint32_t>(m), &mapped);
  out->Append(mapped, trusted);
}

Text MapCase(const Text& text, Case to) {
  Text out;
  for (size_t i = 0; i < text.size(); i = NextCodePoint(text.view(), i)) {
    AppendMapped(text, i, to, &out);
  }
  return out;
}

std::pair<size_t, size_t> StripRange(std::string_view text, const std::string_view* chars,
                                     bool left, bool right) {
  auto strips = [&](size_t begin, size_t end) {
    if (chars == nullptr) return IsSpace(CodePointAt(text, begin));
    return chars->find(text.substr(begin, end - begin)) != std::string_view::npos;
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    size_t next = NextCodePoint(text, begin);
    if (!strips(begin, next)) break;
    begin = next;
  }
  while (right && begin < end) {
    size_t previous = PreviousCodePoint(text, end);
    if (!strips(previous, end)) break;
    end = previous;
  }
  return {begin, end};
}

std::vector<std::pair<size_t, size_t>> SplitLines(std::string_view text, bool keep_ends) {
  std::vector<std::pair<size_t, size_t>> lines;
  size_t begin = 0;
  size_t i = 0;
  while (i < text.size()) {
    uint32_t c = CodePointAt(text, i);
    size_t next = NextCodePoint(text, i);
    if (IsLineBreak(c)) {
      if (c == '\r' && next < text.size() && text[next] == '\n') ++next;
      lines.emplace_back(begin, keep_ends ? next : i);
      begin = next;
    }
    i = next;
  }
  if (begin < text.size()) lines.emplace_back(begin, text.size());
  return lines;
}

size_t FindText(std::string_view text, std::string_view needle, size_t from) {
  if (from > text.size() || needle.size() > text.size() - from) return std::string_view::npos;
  constexpr size_t kShort = 16;
  if (needle.size() <= kShort) return text.find(needle, from);
  // Knuth-Morris-Pratt: a long needle must not cost text.size() * needle.size().
  std::vector<uint32_t> border(needle.size(), 0);
  for (size_t i = 1, k = 0; i < needle.size(); ++i) {
    while (k > 0 && needle[i] != needle[k]) k = border[k - 1];
    if (needle[i] == needle[k]) ++k;
    border[i] = static_cast<uint32_t>(k);
  }
  for (size_t i = from, k = 0; i < text.size(); ++i) {
    while (k > 0 && text[i] != needle[k]) k = border[k - 1];
    if (text[i] == needle[k]) ++k;
    if (k == needle.size()) return i + 1 - k;
  }
  return std::string_view::npos;
}

}  // namespace krafla::chat

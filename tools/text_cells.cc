// Widths come from the system's Unicode tables, with the few wide blocks by hand where it has none.
#include "tools/text_cells.h"

#include "tools/raw_mode.h"

namespace krafla::tools {
namespace {

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kZeroWidthJoiner = 0x200D;

bool IsRegionalIndicator(char32_t c) { return c >= 0x1F1E6 && c <= 0x1F1FF; }
bool IsSkinTone(char32_t c) { return c >= 0x1F3FB && c <= 0x1F3FF; }

int WidthOf(char32_t c) {
  if (c < 0x7F) return c < 0x20 ? 0 : 1;
  if (const int width = SystemWidthOf(c); width >= 0) return width;
  const bool combining = (c >= 0x300 && c <= 0x36F) || (c >= 0x200B && c <= 0x200F) ||
                         (c >= 0x20D0 && c <= 0x20FF) || (c >= 0xFE00 && c <= 0xFE0F);
  if (combining) return 0;
  const bool wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
                    (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
                    (c >= 0xFF00 && c <= 0xFF60) || (c >= 0x1F300 && c <= 0x1FAFF) ||
                    (c >= 0x20000 && c <= 0x3FFFD);
  return wide ? 2 : 1;
}

}  // namespace

CodePoint CodePointAt(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return {lead, 1};
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {kReplacement, 1};
  char32_t value = lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {kReplacement, 1};
    value = value << 6 | (byte(at + i) & 0x3F);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[length] || value > 0x10FFFF || surrogate) return {kReplacement, 1};
  return {value, length};
}

size_t FindMalformed(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = CodePointAt(text, at);
    if (c.value == kReplacement && c.length == 1) return at;
    at += c.length;
  }
  return std::string_view::npos;
}

size_t ClusterEnd(std::string_view text, size_t at) {
  if (at >= text.size()) return text.size();
  CodePoint last = CodePointAt(text, at);
  at += last.length;
  if (last.value < 0x20) return at;
  bool flag = IsRegionalIndicator(last.value);
  while (at < text.size()) {
    const CodePoint next = CodePointAt(text, at);
    const bool pair = flag && IsRegionalIndicator(next.value);
    const bool joins = last.value == kZeroWidthJoiner || IsSkinTone(next.value) || pair ||
                       (next.value >= 0x7F && WidthOf(next.value) == 0);
    if (!joins) return at;
    flag = false;
    last = next;
    at += next.length;
  }
  return at;
}

size_t ClusterStart(std::string_view text, size_t at) {
  // Clusters can only be told forwards; a new line always begins one.
  size_t start = at == 0 ? 0 : text.rfind('\n', at - 1);
  if (start == std::string_view::npos) start = 0;
  while (start < at) {
    const size_t end = ClusterEnd(text, start);
    if (end >= at) return start;
    start = end;
  }
  return start;
}

int CellWidth(std::string_view cluster) {
  if (cluster.empty()) return 0;
  const CodePoint first = CodePointAt(cluster, 0);
  if (IsRegionalIndicator(first.value) && cluster.size() > first.length) return 2;
  return WidthOf(first.value);
}

}  // namespace krafla::tools

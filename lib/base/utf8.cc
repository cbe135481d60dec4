// UTF-8 by the table of well-formed byte sequences (Unicode 15, table 3-7): the first byte fixes
// the length and the range of the second byte, which is where overlong forms, surrogates and values
// above U+10FFFF are refused; every later byte is 80..BF.
#include "lib/base/utf8.h"

#include <algorithm>
#include <cstring>

namespace krafla {
namespace {

struct Lead {
  uint32_t length;  // 0: no sequence starts so
  uint8_t second_min;
  uint8_t second_max;
};

Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// How many bytes of `text` fit the sequence that its first byte starts.
uint32_t FittingBytes(std::string_view text, const Lead& lead) {
  uint32_t n = 1;
  for (; n < lead.length && n < text.size(); ++n) {
    const uint8_t byte = static_cast<uint8_t>(text[n]);
    const uint8_t min = n == 1 ? lead.second_min : 0x80;
    const uint8_t max = n == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) break;
  }
  return n;
}

// Length of the run of ASCII that opens `text`, found eight bytes at a time.
size_t AsciiPrefix(std::string_view text) {
  size_t n = 0;
  for (; n + 8 <= text.size(); n += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + n, 8);
    if (word & 0x8080808080808080ull) break;
  }
  while (n < text.size() && static_cast<uint8_t>(text[n]) < 0x80) ++n;
  return n;
}

}  // namespace

CodePoint DecodeUtf8(std::string_view text) {
  const uint8_t first = static_cast<uint8_t>(text[0]);
  const Lead lead = LeadOf(first);
  if (lead.length == 1) return {first, 1, true};
  const uint32_t n = FittingBytes(text, lead);
  if (n != lead.length) return {kReplacementCharacter, n, false};
  uint32_t value = first & (0x7Fu >> lead.length);
  for (uint32_t i = 1; i < n; ++i) value = value << 6 | (static_cast<uint8_t>(text[i]) & 0x3Fu);
  return {value, n, true};
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t at = 0;
  for (;;) {
    at += AsciiPrefix(text.substr(at));
    if (at == text.size()) return at;
    const CodePoint c = DecodeUtf8(text.substr(at));
    if (!c.valid) return at;
    at += c.length;
  }
}

size_t IncompleteUtf8Suffix(std::string_view text) {
  for (size_t n = 1; n <= std::min<size_t>(3, text.size()); ++n) {
    const std::string_view suffix = text.substr(text.size() - n);
    const uint8_t first = static_cast<uint8_t>(suffix[0]);
    if ((first & 0xC0) == 0x80) continue;  // not the start of a sequence; look further back
    const Lead lead = LeadOf(first);
    return lead.length > n && FittingBytes(suffix, lead) == n ? n : 0;
  }
  return 0;
}

void AppendUtf8(uint32_t c, std::string* out) {
  if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) c = kReplacementCharacter;
  char bytes[4];
  size_t n;
  if (c < 0x80) {
    n = 1;
    bytes[0] = static_cast<char>(c);
  } else if (c < 0x800) {
    n = 2;
    bytes[0] = static_cast<char>(0xC0 | c >> 6);
  } else if (c < 0x10000) {
    n = 3;
    bytes[0] = static_cast<char>(0xE0 | c >> 12);
  } else {
    n = 4;
    bytes[0] = static_cast<char>(0xF0 | c >> 18);
  }
  for (size_t i = 1; i < n; ++i) {
    bytes[i] = static_cast<char>(0x80 | (c >> (6 * (n - 1 - i)) & 0x3F));
  }
  out->append(bytes, n);
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = ValidUtf8Prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    AppendUtf8(kReplacementCharacter, &out);
    text.remove_prefix(DecodeUtf8(text).length);
  }
  return out;
}

}  // namespace krafla

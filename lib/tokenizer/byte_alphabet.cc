// Printable bytes of Latin-1 stand for themselves, the 68 others for U+0100 onwards.
#include "lib/tokenizer/byte_alphabet.h"

#include <charconv>

#include "lib/base/utf8.h"

namespace krafla {
namespace {

constexpr bool IsVisible(uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xFF && byte != 0xAD);
}

struct Alphabet {
  uint16_t letter[256] = {};
  int16_t byte[0x100 + 68] = {};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet a;
  for (int16_t& b : a.byte) b = -1;
  uint16_t next = 0x100;
  for (uint32_t b = 0; b < 256; ++b) {
    a.letter[b] = IsVisible(b) ? static_cast<uint16_t>(b) : next++;
    a.byte[a.letter[b]] = static_cast<int16_t>(b);
  }
  return a;
}

constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

uint32_t ByteLetter(uint8_t byte) { return kAlphabet.letter[byte]; }

int ByteOfLetter(uint32_t letter) {
  return letter < sizeof(kAlphabet.byte) / sizeof(kAlphabet.byte[0]) ? kAlphabet.byte[letter] : -1;
}

void AppendByteLetters(std::string_view bytes, std::string* out) {
  for (char c : bytes) AppendUtf8(ByteLetter(static_cast<uint8_t>(c)), out);
}

std::string BytesOfLetters(std::string_view text) {
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    const CodePoint c = DecodeUtf8(rest);
    const int byte = c.valid ? ByteOfLetter(c.value) : -1;
    if (byte < 0) return std::string(text);
    bytes.push_back(static_cast<char>(byte));
    rest.remove_prefix(c.length);
  }
  return bytes;
}

int ByteOfFallbackToken(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
  uint8_t byte = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, byte, 16);
  return error == std::errc() && end == text.data() + 5 ? byte : -1;
}

std::string FallbackToken(uint8_t byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
}

}  // namespace krafla

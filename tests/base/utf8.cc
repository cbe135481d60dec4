// UTF-8 against a table by hand (Unicode 15, tables 3-8 to 3-11 among it), and every short byte
// string against an independent definition of well-formedness.
#include "lib/base/utf8.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace krafla {
namespace {

struct Row {
  const char* what;
  std::string text;
  std::string replaced;  // as Python's bytes.decode("utf-8", "replace")
  size_t valid;
  size_t incomplete;
};

const std::string kR = "\xEF\xBF\xBD";

TEST_CASE("text by hand") {
  const std::vector<Row> rows = {
      {"empty", "", "", 0, 0},
      {"ascii", "Hello, world", "Hello, world", 12, 0},
      {"nul", std::string("a\0b", 3), std::string("a\0b", 3), 3, 0},
      {"two bytes", "caf\xC3\xA9", "caf\xC3\xA9", 5, 0},
      {"three bytes", "\xE2\x82\xAC", "\xE2\x82\xAC", 3, 0},
      {"four bytes", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80", 4, 0},
      {"highest", "\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF", 4, 0},
      {"above the highest", "\xF4\x90\x80\x80", kR + kR + kR + kR, 0, 0},
      {"overlong two", "\xC0\xAF", kR + kR, 0, 0},
      {"overlong three", "\xE0\x80\xAF", kR + kR + kR, 0, 0},
      {"overlong four", "\xF0\x80\x80\xAF", kR + kR + kR + kR, 0, 0},
      {"surrogate", "\xED\xA0\x80", kR + kR + kR, 0, 0},
      {"last before surrogates", "\xED\x9F\xBF", "\xED\x9F\xBF", 3, 0},
      {"lone continuation", "a\x80z", "a" + kR + "z", 1, 0},
      {"cut four of four", "ab\xF0\x9F\x98", "ab" + kR, 2, 3},
      {"cut to two of four", "ab\xF0\x9F", "ab" + kR, 2, 2},
      {"cut to one", "ab\xF0", "ab" + kR, 2, 1},
      {"cut three", "ab\xE2\x82", "ab" + kR, 2, 2},
      {"cut two", "ab\xC3", "ab" + kR, 2, 1},
      {"bad second can never complete", "ab\xE0\x80", "ab" + kR + kR, 2, 0},
      {"F5 starts nothing", "\xF5", kR, 0, 0},
      {"lead then ascii", "\xC3(", kR + "(", 0, 0},
      {"lead then lead", "\xC3\xC3\xA9", kR + "\xC3\xA9", 0, 0},
      {"truncated sequences (table 3-11)", "\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41",
       kR + kR + kR + kR + "A", 0, 0},
      {"mixed (table 3-8)", "\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41",
       kR + kR + kR + kR + kR + kR + kR + kR + "A", 0, 0},
      {"long ascii, then a fault", std::string(37, 'x') + "\xFF" + std::string(20, 'y'),
       std::string(37, 'x') + kR + std::string(20, 'y'), 37, 0},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(ReplaceInvalidUtf8(row.text) == row.replaced);
    CHECK(ValidUtf8Prefix(row.text) == row.valid);
    CHECK(IncompleteUtf8Suffix(row.text) == row.incomplete);
  }
}

TEST_CASE("every code point goes there and back") {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string text;
    AppendUtf8(c, &text);
    const CodePoint back = DecodeUtf8(text);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    const bool right = back.valid && back.length == text.size() &&
                       back.value == (surrogate ? kReplacementCharacter : c) &&
                       IncompleteUtf8Suffix(text) == 0;
    if (!right) FAIL("code point " << c);
    // Each proper prefix is an incomplete suffix, and one ill-formed subpart.
    for (size_t n = 1; n < text.size(); ++n) {
      const std::string prefix = text.substr(0, n);
      const CodePoint cut = DecodeUtf8(prefix);
      if (IncompleteUtf8Suffix("z" + prefix) != n || cut.valid || cut.length != n) {
        FAIL("prefix " << n << " of " << c);
      }
    }
  }
  std::string text;
  AppendUtf8(0x110000, &text);
  CHECK(text == kR);
}

// Well-formed by value: decode the bits freely, then ask for the shortest form and a scalar value.
bool WellFormed3(const unsigned char* b, size_t n) {
  if (n == 0) return true;
  size_t length;
  uint32_t value;
  uint32_t least;
  if (b[0] < 0x80) {
    length = 1, value = b[0], least = 0;
  } else if ((b[0] & 0xE0) == 0xC0) {
    length = 2, value = b[0] & 0x1F, least = 0x80;
  } else if ((b[0] & 0xF0) == 0xE0) {
    length = 3, value = b[0] & 0x0F, least = 0x800;
  } else {
    return false;  // a sequence of four does not fit three bytes
  }
  if (length > n) return false;
  for (size_t i = 1; i < length; ++i) {
    if ((b[i] & 0xC0) != 0x80) return false;
    value = value << 6 | (b[i] & 0x3F);
  }
  if (value < least || (value >= 0xD800 && value <= 0xDFFF)) return false;
  return WellFormed3(b + length, n - length);
}

TEST_CASE("every string of up to three bytes") {
  for (uint32_t i = 0; i < 1u << 24; ++i) {
    const unsigned char b[3] = {static_cast<unsigned char>(i), static_cast<unsigned char>(i >> 8),
                                static_cast<unsigned char>(i >> 16)};
    const size_t n = i < 256 ? 1 : i < 65536 ? 2 : 3;
    const std::string_view text(reinterpret_cast<const char*>(b), n);
    if ((ValidUtf8Prefix(text) == n) != WellFormed3(b, n)) FAIL("bytes " << i);
  }
}

}  // namespace
}  // namespace krafla

// A text that the parser refuses for a number is read again with its long ones spelt otherwise, by
// one pass that knows strings, so that digits within them are left alone.
#include "lib/convert/json_numbers.h"

#include <algorithm>
#include <string>

namespace krafla {
namespace {

constexpr size_t kMaxDigits = 18;  // of a number that surely fits 64 bits

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The end of the string that starts at json[at].
size_t SkipString(std::string_view json, size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at) {
    if (json[at] == '\\') ++at;
  }
  return std::min(at + 1, json.size());
}

// The text with each whole number of more than kMaxDigits spelt as a floating-point one ("e0"
// behind it). What is no JSON stays that.
std::string WithFloatsForBigIntegers(std::string_view json) {
  std::string out;
  out.reserve(json.size() + 16);
  for (size_t at = 0; at < json.size();) {
    const size_t begin = at;
    if (json[at] == '"') {
      at = SkipString(json, at);
      out.append(json, begin, at - begin);
      continue;
    }
    while (at < json.size() && IsDigit(json[at])) ++at;
    if (at == begin) {
      out.push_back(json[at++]);
      continue;
    }
    out.append(json, begin, at - begin);
    const char before = begin == 0 ? ' ' : json[begin - 1],
               after = at < json.size() ? json[at] : ' ';
    const bool is_part = before == '.' || before == 'e' || before == 'E' || before == '+' ||
                         after == '.' || after == 'e' || after == 'E';
    if (at - begin > kMaxDigits && !is_part) out.append("e0");
  }
  return out;
}

}  // namespace

StatusOr<simdjson::dom::element> ParseJson(std::string_view file, std::string_view text,
                                           simdjson::dom::parser* parser) {
  simdjson::dom::element root;
  auto error = parser->parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    error = parser->parse(WithFloatsForBigIntegers(text)).get(root);
  }
  if (error == simdjson::MEMALLOC) return MemoryError("{}: no memory to read it", file);
  if (error != simdjson::SUCCESS) return FileError("{}: {}", file, simdjson::error_message(error));
  return root;
}

}  // namespace krafla

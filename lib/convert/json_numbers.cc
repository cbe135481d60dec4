// One pass that knows strings, so that digits within them are left alone.
#include "lib/convert/json_numbers.h"

#include <algorithm>

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

}  // namespace

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

}  // namespace krafla

// Each pattern stays within what the usual checkers accept: a year is not 0, a day is one of its
// month, a second is not 60.
#include "lib/constraint/schema_formats.h"

#include "lib/base/format.h"

namespace krafla {
namespace {

std::string Date() {
  const std::string year = "(\\d{3}[1-9]|\\d{2}[1-9]\\d|\\d[1-9]\\d{2}|[1-9]\\d{3})";
  const std::string leap =
      "(\\d{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)";
  return "(" + year +
         "-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|"
         "1\\d|2[0-8]))|" +
         leap + "-02-29)";
}

std::string Time() {
  return "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
}

constexpr const char* kIpv4 =
    "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)";

std::string Ipv6() {
  const std::string h = "[0-9a-fA-F]{1,4}", g = h + ":";
  std::string out = "(" + g + "){7}" + h + "|::|";
  // One run of zeros is left out: n groups before it and up to 6 - n behind.
  for (int n = 0; n <= 6; ++n) {
    const std::string before = n == 0 ? ":" : FormatText("({}){{{}}}", g, n);
    out += FormatText("{}:({}){{0,{}}}{}|", before, g, 6 - n, h);
  }
  return out + "(" + g + "){1,7}:|(" + g + "){6}" + kIpv4 + "|::(" + g + "){0,5}" + kIpv4;
}

constexpr const char* kLabel = "[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";

std::string Hostname() { return FormatText("{}(\\.{}){{0,10}}", kLabel, kLabel); }

constexpr const char* kUriChar = "([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9a-fA-F]{2})";

std::string UriTail() {
  return FormatText("{}*(\\?({}|\\?)*)?(#({}|\\?)*)?", kUriChar, kUriChar, kUriChar);
}

}  // namespace

std::string FormatPattern(std::string_view name) {
  if (name == "date") return Date();
  if (name == "time") return Time();
  if (name == "date-time") return Date() + "T" + Time();
  if (name == "duration") {
    const std::string time = "T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S)";
    return "P(\\d+W|(\\d+Y(\\d+M(\\d+D)?)?|\\d+M(\\d+D)?|\\d+D)(" + time + ")?|" + time + ")";
  }
  if (name == "email") {
    const std::string atom = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
    return FormatText("{}(\\.{})*@{}", atom, atom, Hostname());
  }
  if (name == "hostname") return Hostname();
  if (name == "ipv4") return kIpv4;
  if (name == "ipv6") return Ipv6();
  if (name == "uuid") {
    return "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}";
  }
  if (name == "uri") return "[A-Za-z][A-Za-z0-9+.-]*:" + UriTail();
  if (name == "uri-reference") return "([A-Za-z][A-Za-z0-9+.-]*:)?" + UriTail();
  if (name == "json-pointer") return "(/([^~/]|~[01])*)*";
  return {};
}

}  // namespace krafla

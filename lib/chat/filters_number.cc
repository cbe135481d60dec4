// Filters that make or round numbers.
#include <charconv>
#include <cmath>

#include "lib/chat/characters.h"
#include "lib/chat/convert.h"
#include "lib/chat/format.h"

namespace krafla::chat {
namespace {

// The characters of a number as Python's int() and float() take them: no outer blanks, no `_`
// between digits, no leading '+'. Empty when the underscores are misplaced.
std::string NumberText(std::string_view text) {
  auto [begin, end] = StripRange(text, nullptr, true, true);
  std::string out;
  for (size_t i = begin; i < end; ++i) {
    if (text[i] != '_') {
      out.push_back(text[i]);
      continue;
    }
    auto alnum = [](char c) {
      return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    };
    if (i == begin || i + 1 == end || !alnum(text[i - 1]) || !alnum(text[i + 1])) return "";
  }
  if (!out.empty() && out[0] == '+') out.erase(0, out.size() > 1 && out[1] != '-' ? 1 : out.size());
  return out;
}

bool ParseDouble(std::string_view text, double* out) {
  std::string s = NumberText(text);
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), *out);
  if (s.empty() || end != s.data() + s.size()) return false;
  if (error == std::errc::result_out_of_range) {
    *out = s.find("e-") != std::string::npos || s.find("E-") != std::string::npos ? 0.0 : HUGE_VAL;
    return true;
  }
  // from_chars also takes "nan(text)".
  return error == std::errc() && s.find('(') == std::string::npos;
}

bool ParseInteger(std::string_view text, int base, int64_t* out) {
  std::string s = NumberText(text);
  bool negative = !s.empty() && s[0] == '-';
  size_t digits = negative ? 1 : 0;
  if (s.size() > digits + 2 && s[digits] == '0') {
    char mark = static_cast<char>(s[digits + 1] | 0x20);
    if ((base == 16 && mark == 'x') || (base == 8 && mark == 'o') || (base == 2 && mark == 'b')) {
      s.erase(digits, 2);
    }
  }
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), *out, base);
  return !s.empty() && error == std::errc() && end == s.data() + s.size();
}

StatusOr<Value> Truncated(Interpreter& in, double d) {
  if (!(std::fabs(d) < 9223372036854775808.0))
    return in.Error("{} does not fit an integer", FloatRepr(d));
  return Value::Int(static_cast<int64_t>(d));
}

StatusOr<Value> ToInt(Interpreter& in, const Value& self, CallArgs& args) {
  Value fallback = args.positional[0].given() ? args.positional[0] : Value::Int(0);
  KRAFLA_ASSIGN_OR_RETURN(int64_t base, IntArgument(in, args.positional[1], "base", 10));
  if (base < 2 || base > 36) return in.Error("filter 'int': base {} is not between 2 and 36", base);
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (self.IsInteger()) return Value::Int(self.i);
  if (self.Is(Kind::kFloat))
    return std::isnan(self.d) ? StatusOr<Value>(fallback) : Truncated(in, self.d);
  if (!self.Is(Kind::kString)) return fallback;
  int64_t i = 0;
  if (ParseInteger(self.text().view(), static_cast<int>(base), &i)) return Value::Int(i);
  double d = 0;
  if (ParseDouble(self.text().view(), &d) && std::fabs(d) < 9223372036854775808.0) {
    return Truncated(in, d);
  }
  return fallback;
}

StatusOr<Value> ToFloat(Interpreter& in, const Value& self, CallArgs& args) {
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (self.IsNumber()) return Value::Float(self.AsDouble());
  double d = 0;
  if (self.Is(Kind::kString) && ParseDouble(self.text().view(), &d)) return Value::Float(d);
  return args.positional[0].given() ? args.positional[0] : Value::Float(0);
}

StatusOr<Value> Abs(Interpreter& in, const Value& self, CallArgs&) {
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (self.Is(Kind::kFloat)) return Value::Float(std::fabs(self.d));
  if (!self.IsInteger()) return in.Error("filter 'abs': got a {}, want a number", TypeName(self));
  if (self.i == INT64_MIN) return in.Error("integer overflow in abs");
  return Value::Int(self.i < 0 ? -self.i : self.i);
}

double RoundCommon(double d, int precision) {
  if (!std::isfinite(d) || precision > 330) return d;
  if (precision < 0) {
    double scale = std::pow(10.0, -precision);
    return std::isinf(scale) ? std::copysign(0.0, d) : std::nearbyint(d / scale) * scale;
  }
  std::string digits = FixedDigits(d, precision);
  double rounded = d;
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return rounded;
}

StatusOr<Value> Round(Interpreter& in, const Value& self, CallArgs& args) {
  if (self.Is(Kind::kUndefined)) return in.UndefinedError(self);
  if (!self.IsNumber()) return in.Error("filter 'round': got a {}, want a number", TypeName(self));
  KRAFLA_ASSIGN_OR_RETURN(int64_t wide_precision,
                          IntArgument(in, args.positional[0], "precision", 0));
  KRAFLA_ASSIGN_OR_RETURN(const Text* method, TextArgument(in, args.positional[1], "method"));
  int precision = static_cast<int>(std::clamp<int64_t>(wide_precision, -400, 400));
  std::string_view name = method == nullptr ? "common" : method->view();
  if (name == "common") {
    if (self.IsInteger() && precision >= 0) return Value::Int(self.i);
    double rounded = RoundCommon(self.AsDouble(), precision);
    return self.IsInteger() ? Truncated(in, rounded) : StatusOr<Value>(Value::Float(rounded));
  }
  if (name != "ceil" && name != "floor") {
    return in.Error("filter 'round': unknown method '{}'", name);
  }
  double scale = std::pow(10.0, precision);
  double scaled = self.AsDouble() * scale;
  return Value::Float((name == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

constexpr Builtin kTable[] = {
    {"int", "default base", ToInt},
    {"float", "default", ToFloat},
    {"abs", "", Abs},
    {"round", "precision method", Round},
};

}  // namespace

std::span<const Builtin> NumberFilters() { return kTable; }

}  // namespace krafla::chat

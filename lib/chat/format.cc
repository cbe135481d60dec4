// One field of a format: a value, its conversion and its padding. The literal parts keep their
// trust, each value brings its own.
#include "lib/chat/format.h"

#include <charconv>
#include <cmath>

#include "lib/chat/access.h"
#include "lib/chat/characters.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

struct Field {
  std::string fill = " ";
  char align = '\0';  // < > ^ =
  char sign = '-';    // - + or blank
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  int64_t precision = -1;
  char type = '\0';
};

bool IsDigitChar(char c) { return c >= '0' && c <= '9'; }

int64_t ReadNumber(std::string_view s, size_t* i) {
  int64_t n = 0;
  // Past a million the room check refuses anyway.
  while (*i < s.size() && IsDigitChar(s[*i])) {
    n = std::min<int64_t>(n * 10 + (s[*i] - '0'), 1'000'000'000);
    ++*i;
  }
  return n;
}

std::string_view SignText(const Field& f, bool negative) {
  if (negative) return "-";
  return f.sign == '+' ? "+" : f.sign == ' ' ? " " : "";
}

StatusOr<std::string> FormatInteger(Interpreter& in, const Field& f, int64_t value) {
  uint64_t magnitude =
      value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix = f.alternate && f.type == 'x'   ? "0x"
                       : f.alternate && f.type == 'o' ? "0o"
                                                      : "";
  std::string digits;
  switch (f.type) {
    case 'x':
      digits = FormatText("{:x}", magnitude);
      break;
    case 'X':
      digits = FormatText("{:X}", magnitude);
      break;
    case 'o':
      digits = FormatText("{:o}", magnitude);
      break;
    case 'b':
      digits = FormatText("{:b}", magnitude);
      break;
    case '\0':
    case 'd':
    case 'i':
    case 'u':
      digits = FormatText("{}", magnitude);
      break;
    default:
      return in.Error("unsupported format type '{}' for an int", f.type);
  }
  return FormatText("{}{}{}", SignText(f, value < 0), prefix, digits);
}

StatusOr<std::string> FormatDouble(Interpreter& in, const Field& f, double value) {
  if (f.precision > 400) return in.Error("format precision {} is too large", f.precision);
  int precision = f.precision < 0 ? 6 : static_cast<int>(f.precision);
  double magnitude = std::fabs(value);
  std::string digits;
  if (std::isnan(value) || std::isinf(value)) {
    digits = std::isnan(value) ? "nan" : "inf";
  } else if (f.type == 'f' || f.type == 'F') {
    digits = FixedDigits(magnitude, precision);
  } else if (f.type == 'e' || f.type == 'E') {
    digits = FormatText("{:.{}e}", magnitude, precision);
  } else if (f.type == 'g' || f.type == 'G') {
    digits = FormatText("{:.{}g}", magnitude, std::max(precision, 1));
  } else if (f.type == '%') {
    digits = FixedDigits(magnitude * 100, precision) + "%";
  } else if (f.type == '\0' && f.precision < 0) {
    digits = FloatRepr(magnitude);
  } else {
    return in.Error("unsupported format type '{}' for a float", f.type == '\0' ? ' ' : f.type);
  }
  return FormatText("{}{}", SignText(f, std::signbit(value) && !std::isnan(value)), digits);
}

// Pads `body` to the field's width.
Status AppendPadded(Interpreter& in, const Field& f, const Text& body, bool number,
                    bool fill_trusted, Text* out) {
  int64_t length = static_cast<int64_t>(CountCodePoints(body.view()));
  if (f.width <= length) {
    out->Append(body);
    return OkStatus();
  }
  size_t missing = static_cast<size_t>(f.width - length);
  KRAFLA_RETURN_IF_ERROR(in.CheckRoom(missing, f.fill.size()));
  char align = f.align != '\0' ? f.align : number ? '>' : '<';
  std::string fill = f.fill;
  if (f.zero && f.align == '\0' && number) fill.assign(1, '0'), align = '=';
  size_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  size_t sign =
      align == '=' && !body.empty() && std::string_view("+- ").find(body.bytes()[0]) < 3 ? 1 : 0;
  out->Append(body, 0, sign);
  for (size_t i = 0; i < before; ++i) out->Append(fill, fill_trusted);
  out->Append(body, sign, body.size());
  for (size_t i = before; i < missing; ++i) out->Append(fill, fill_trusted);
  return OkStatus();
}

Status AppendValue(Interpreter& in, const Field& f, const Value& v, bool fill_trusted, Text* out) {
  if (v.Is(Kind::kUndefined)) return in.UndefinedError(v);
  bool text_type = f.type == 's' || f.type == 'r' || (f.type == '\0' && !v.IsNumber());
  Text body;
  if (text_type || v.Is(Kind::kBool)) {
    if (!text_type && f.type != '\0') {
      KRAFLA_ASSIGN_OR_RETURN(std::string digits, FormatInteger(in, f, v.i));
      body.Append(digits, true);
    } else if (f.type == 'r') {
      KRAFLA_RETURN_IF_ERROR(AppendRepr(in, v, &body));
    } else {
      KRAFLA_RETURN_IF_ERROR(AppendStr(in, v, &body));
    }
    if (f.precision >= 0 && text_type) {
      body = body.Slice(0, CodePointOffset(body.view(), static_cast<size_t>(f.precision)));
    }
    return AppendPadded(in, f, body, false, fill_trusted, out);
  }
  if (!v.IsNumber())
    return in.Error("format type '{}' wants a number, got a {}", f.type, TypeName(v));
  bool float_type =
      f.type != '\0' && std::string_view("fFeEgG%").find(f.type) != std::string_view::npos;
  std::string digits;
  if (v.Is(Kind::kFloat) || float_type) {
    KRAFLA_ASSIGN_OR_RETURN(digits, FormatDouble(in, f, v.AsDouble()));
  } else {
    KRAFLA_ASSIGN_OR_RETURN(digits, FormatInteger(in, f, v.i));
  }
  body.Append(digits, true);
  return AppendPadded(in, f, body, true, fill_trusted, out);
}

// The specification after the colon of a brace field.
bool ParseSpec(std::string_view s, Field* f) {
  size_t i = 0;
  auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!s.empty()) {
    size_t first = NextCodePoint(s, 0);
    if (first < s.size() && is_align(s[first])) {
      f->fill = std::string(s.substr(0, first));
      f->align = s[first];
      i = first + 1;
    } else if (is_align(s[0])) {
      f->align = s[0];
      i = 1;
    }
  }
  if (i < s.size() && (s[i] == '+' || s[i] == '-' || s[i] == ' ')) f->sign = s[i++];
  if (i < s.size() && s[i] == '#') f->alternate = true, ++i;
  if (i < s.size() && s[i] == '0') f->zero = true, ++i;
  f->width = ReadNumber(s, &i);
  if (i < s.size() && s[i] == '.') f->precision = ReadNumber(s, &++i);
  if (i < s.size()) f->type = s[i++];
  return i == s.size();
}

class PercentFormatter {
 public:
  PercentFormatter(Interpreter& in, const Text& format, const Value& arguments)
      : in_(in), format_(format), arguments_(arguments) {
    bool tuple = arguments.Is(Kind::kList) && arguments.As<ListObject>().style == ListStyle::kTuple;
    if (tuple) {
      values_ = arguments.items();
    } else {
      values_.push_back(arguments);
    }
  }

  StatusOr<Value> Run() {
    std::string_view s = format_.view();
    size_t i = 0;
    while (i < s.size()) {
      size_t percent = std::min(s.find('%', i), s.size());
      out_.Append(format_, i, percent);
      if (percent == s.size()) break;
      i = percent + 1;
      if (i < s.size() && s[i] == '%') {
        out_.Append(format_, i, i + 1);
        ++i;
        continue;
      }
      KRAFLA_RETURN_IF_ERROR(Conversion(&i));
    }
    if (!used_map_ && next_ < values_.size() && !arguments_.Is(Kind::kMap)) {
      return in_.Error("not all arguments converted during string formatting");
    }
    return in_.String(std::move(out_));
  }

 private:
  Status Conversion(size_t* i) {
    std::string_view s = format_.view();
    Field f;
    Value value;
    if (*i < s.size() && s[*i] == '(') {
      size_t close = s.find(')', *i);
      if (close == std::string_view::npos) return in_.Error("incomplete format key");
      const Value* found = arguments_.Is(Kind::kMap)
                               ? arguments_.As<MapObject>().Find(s.substr(*i + 1, close - *i - 1))
                               : nullptr;
      if (found == nullptr) return in_.Error("no value for a named format field");
      value = *found;
      used_map_ = true;
      *i = close + 1;
    }
    for (; *i < s.size(); ++*i) {
      char c = s[*i];
      if (c == '-')
        f.align = '<';
      else if (c == '+' || c == ' ')
        f.sign = c;
      else if (c == '#')
        f.alternate = true;
      else if (c == '0')
        f.zero = true;
      else
        break;
    }
    f.width = ReadNumber(s, i);
    if (*i < s.size() && s[*i] == '.') f.precision = ReadNumber(s, &++*i);
    if (*i >= s.size()) return in_.Error("incomplete format");
    f.type = s[*i];
    if (std::string_view("srdiuxXofFeEgG").find(f.type) == std::string_view::npos) {
      return in_.Error("unsupported format character '%{}'",
                       s.substr(*i, NextCodePoint(s, *i) - *i));
    }
    if (!value.given()) {
      if (next_ >= values_.size()) return in_.Error("not enough arguments for format string");
      value = values_[next_++];
    }
    bool whole = std::string_view("diuxXo").find(f.type) != std::string_view::npos;
    if (whole && value.Is(Kind::kFloat)) {
      if (!(std::fabs(value.d) < 9e18)) return in_.Error("float does not fit an int in a format");
      value = Value::Int(static_cast<int64_t>(value.d));
    }
    if (f.align == '\0') f.align = f.zero && f.type != 's' && f.type != 'r' ? '\0' : '>';
    bool trusted = format_.TrustedAt(*i);
    ++*i;
    return AppendValue(in_, f, value, trusted, &out_);
  }

  Interpreter& in_;
  const Text& format_;
  const Value& arguments_;
  std::vector<Value> values_;
  size_t next_ = 0;
  bool used_map_ = false;
  Text out_;
};

// The value a brace field names: "", "0", "name", "name.attribute".
StatusOr<Value> FieldValue(Interpreter& in, std::string_view name, const CallArgs& args,
                           size_t* next) {
  if (name.find_first_of("[].!") != std::string_view::npos) {
    return in.Error("unsupported format field '{}'", name);
  }
  size_t index = 0;
  auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (name.empty()) {
    index = (*next)++;
  } else if (error != std::errc() || end != name.data() + name.size()) {
    for (const auto& [given, value] : args.named) {
      if (given == name) return value;
    }
    return in.Error("no value for format field '{}'", name);
  }
  if (index >= args.positional.size()) return in.Error("no value for format field {}", index);
  return args.positional[index];
}

}  // namespace

std::string FixedDigits(double d, int precision) {
  char buffer[800];
  auto result =
      std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::fixed, precision);
  return std::string(buffer, result.ptr);
}

StatusOr<Value> PercentFormat(Interpreter& in, const Text& format, const Value& arguments) {
  return PercentFormatter(in, format, arguments).Run();
}

StatusOr<Value> BraceFormat(Interpreter& in, const Text& format, const CallArgs& args) {
  std::string_view s = format.view();
  Text out;
  size_t next = 0;
  for (size_t i = 0; i < s.size();) {
    char c = s[i];
    if (c != '{' && c != '}') {
      size_t end = std::min(s.find_first_of("{}", i), s.size());
      out.Append(format, i, end);
      i = end;
      continue;
    }
    if (i + 1 < s.size() && s[i + 1] == c) {
      out.Append(format, i, i + 1);
      i += 2;
      continue;
    }
    size_t close = c == '{' ? s.find('}', i) : std::string_view::npos;
    if (close == std::string_view::npos) return in.Error("single '{}' in a format string", c);
    std::string_view field = s.substr(i + 1, close - i - 1);
    size_t colon = std::min(field.find(':'), field.size());
    KRAFLA_ASSIGN_OR_RETURN(Value value, FieldValue(in, field.substr(0, colon), args, &next));
    Field f;
    if (colon < field.size() && !ParseSpec(field.substr(colon + 1), &f)) {
      return in.Error("unsupported format specification '{}'", field.substr(colon + 1));
    }
    KRAFLA_RETURN_IF_ERROR(AppendValue(in, f, value, format.TrustedAt(i), &out));
    i = close + 1;
  }
  return in.String(std::move(out));
}

}  // namespace krafla::chat

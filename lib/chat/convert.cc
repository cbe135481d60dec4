// str() and repr() with their trust, truth, and iteration.
#include "lib/chat/convert.h"

#include <charconv>
#include <cmath>

#include "lib/chat/characters.h"

namespace krafla::chat {
namespace {

// Writes reprs into bytes and notes whether any text among them was untrusted.
class ReprWriter {
 public:
  explicit ReprWriter(Interpreter& in) : in_(in) {}

  Status Write(const Value& v) {
    Nesting nesting(in_);
    if (nesting.too_deep()) return nesting.error();
    KRAFLA_RETURN_IF_ERROR(in_.Step());
    switch (v.kind) {
      case Kind::kString:
        WriteString(v.text());
        return in_.CheckRoom(bytes.size());
      case Kind::kList:
        return WriteList(v.As<ListObject>());
      case Kind::kMap:
        return WriteMap(v.As<MapObject>());
      case Kind::kNamespace:
        return WriteNamespace(v.As<NamespaceObject>());
      case Kind::kUndefined:
        bytes += "Undefined";
        return OkStatus();
      default: {
        Text text;
        KRAFLA_RETURN_IF_ERROR(AppendStr(in_, v, &text));
        bytes += text.bytes();
        return OkStatus();
      }
    }
  }

  std::string bytes;
  bool trusted = true;

 private:
  void WriteString(const Text& text) {
    trusted = trusted && text.AllTrusted();
    std::string_view s = text.view();
    bool has_single = s.find('\'') != std::string_view::npos;
    char quote = has_single && s.find('"') == std::string_view::npos ? '"' : '\'';
    bytes.push_back(quote);
    for (size_t i = 0; i < s.size(); i = NextCodePoint(s, i)) {
      uint32_t c = CodePointAt(s, i);
      if (c == '\n') {
        bytes += "\\n";
      } else if (c == '\r') {
        bytes += "\\r";
      } else if (c == '\t') {
        bytes += "\\t";
      } else if (c == '\\' || c == static_cast<unsigned char>(quote)) {
        bytes.push_back('\\');
        bytes.push_back(static_cast<char>(c));
      } else if (IsPrintable(c)) {
        bytes.append(s.substr(i, NextCodePoint(s, i) - i));
      } else {
        bytes += c < 0x100     ? FormatText("\\x{:02x}", c)
                 : c < 0x10000 ? FormatText("\\u{:04x}", c)
                               : FormatText("\\U{:08x}", c);
      }
    }
    bytes.push_back(quote);
  }

  Status WriteItems(const std::vector<Value>& items) {
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) bytes += ", ";
      KRAFLA_RETURN_IF_ERROR(Write(items[i]));
    }
    return OkStatus();
  }

  Status WriteList(const ListObject& list) {
    bool tuple = list.style == ListStyle::kTuple || list.style == ListStyle::kGroup;
    bool view = !tuple && list.style != ListStyle::kList;
    if (view) {
      bytes += list.style == ListStyle::kKeys     ? "dict_keys("
               : list.style == ListStyle::kValues ? "dict_values("
                                                  : "dict_items(";
    }
    bytes.push_back(tuple ? '(' : '[');
    KRAFLA_RETURN_IF_ERROR(WriteItems(list.items));
    if (tuple && list.items.size() == 1) bytes.push_back(',');
    bytes.push_back(tuple ? ')' : ']');
    if (view) bytes.push_back(')');
    return OkStatus();
  }

  Status WriteMap(const MapObject& map) {
    bytes.push_back('{');
    bool first = true;
    for (const auto& [key, value] : map.entries) {
      if (!first) bytes += ", ";
      first = false;
      KRAFLA_RETURN_IF_ERROR(Write(key));
      bytes += ": ";
      KRAFLA_RETURN_IF_ERROR(Write(value));
    }
    bytes.push_back('}');
    return OkStatus();
  }

  Status WriteNamespace(const NamespaceObject& ns) {
    bytes += "<Namespace {";
    bool first = true;
    for (const auto& [name, value] : ns.attributes) {
      if (!first) bytes += ", ";
      first = false;
      // A name may have come of the input; nobody keeps count of which did.
      WriteString(Text(name, false));
      bytes += ": ";
      KRAFLA_RETURN_IF_ERROR(Write(value));
    }
    bytes += "}>";
    return OkStatus();
  }

  Interpreter& in_;
};

}  // namespace

bool Truthy(const Value& v) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return v.i != 0;
    case Kind::kFloat:
      return v.d != 0;
    case Kind::kString:
      return !v.text().empty();
    case Kind::kList:
      return !v.items().empty();
    case Kind::kMap:
      return !v.As<MapObject>().entries.empty();
    case Kind::kRange:
      return v.As<RangeObject>().count > 0;
    default:
      return true;
  }
}

std::string FloatRepr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, d, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  std::string out;
  if (text[0] == '-') {
    out = "-";
    text.remove_prefix(1);
  }
  size_t e = text.find('e');
  int exponent = 0;
  const char* exponent_begin = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent_begin, text.data() + text.size(), exponent);
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  size_t n = digits.size();
  if (exponent < -4 || exponent >= 16) {
    out.append(digits, 0, 1);
    if (n > 1) out.append(1, '.').append(digits, 1);
    return out.append(FormatText("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent)));
  }
  if (exponent < 0) {
    return out.append("0.").append(static_cast<size_t>(-exponent - 1), '0').append(digits);
  }
  size_t point = static_cast<size_t>(exponent) + 1;
  if (n <= point) return out.append(digits).append(point - n, '0').append(".0");
  return out.append(digits, 0, point).append(1, '.').append(digits, point);
}

Status AppendStr(Interpreter& in, const Value& v, Text* out) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return OkStatus();
    case Kind::kNone:
      out->Append("None", true);
      return OkStatus();
    case Kind::kBool:
      out->Append(v.i != 0 ? "True" : "False", true);
      return OkStatus();
    case Kind::kInt:
      out->Append(FormatText("{}", v.i), true);
      return OkStatus();
    case Kind::kFloat:
      out->Append(FloatRepr(v.d), true);
      return OkStatus();
    case Kind::kString:
      out->Append(v.text());
      return OkStatus();
    case Kind::kRange: {
      const RangeObject& r = v.As<RangeObject>();
      out->Append(r.step == 1 ? FormatText("range({}, {})", r.start, r.stop)
                              : FormatText("range({}, {}, {})", r.start, r.stop, r.step),
                  true);
      return OkStatus();
    }
    case Kind::kList:
    case Kind::kMap:
    case Kind::kNamespace:
      return AppendRepr(in, v, out);
    default:
      // Python prints an address here: nothing a template can mean.
      return in.Error("a {} cannot be printed", TypeName(v));
  }
}

Status AppendRepr(Interpreter& in, const Value& v, Text* out) {
  ReprWriter writer(in);
  KRAFLA_RETURN_IF_ERROR(writer.Write(v));
  out->Append(writer.bytes, writer.trusted);
  return OkStatus();
}

StatusOr<Text> ToText(Interpreter& in, const Value& v) {
  Text out;
  KRAFLA_RETURN_IF_ERROR(AppendStr(in, v, &out));
  return out;
}

StatusOr<std::vector<Value>> Items(Interpreter& in, const Value& v) {
  std::vector<Value> items;
  switch (v.kind) {
    case Kind::kUndefined:
      return items;
    case Kind::kList:
      KRAFLA_RETURN_IF_ERROR(in.Step(v.items().size() / 64));
      return v.items();
    case Kind::kMap:
      for (const auto& entry : v.As<MapObject>().entries) items.push_back(entry.first);
      break;
    case Kind::kGenerator: {
      GeneratorObject& g = v.As<GeneratorObject>();
      items.assign(g.items.begin() + static_cast<std::ptrdiff_t>(g.next), g.items.end());
      g.next = g.items.size();
      break;
    }
    case Kind::kRange: {
      const RangeObject& r = v.As<RangeObject>();
      for (int64_t i = 0; i < r.count; ++i) items.push_back(Value::Int(r.start + i * r.step));
      break;
    }
    case Kind::kString: {
      const Text& text = v.text();
      KRAFLA_RETURN_IF_ERROR(in.CheckRoom(text.size(), sizeof(StringObject) + sizeof(Value)));
      for (size_t i = 0; i < text.size();) {
        size_t next = NextCodePoint(text.view(), i);
        items.push_back(in.String(text.Slice(i, next)));
        i = next;
      }
      break;
    }
    default:
      return in.Error("'{}' object is not iterable", TypeName(v));
  }
  KRAFLA_RETURN_IF_ERROR(in.Step(items.size() / 64));
  return items;
}

StatusOr<size_t> Length(Interpreter& in, const Value& v) {
  switch (v.kind) {
    case Kind::kUndefined:
      return size_t{0};
    case Kind::kString:
      KRAFLA_RETURN_IF_ERROR(in.Step(v.text().size() / 4096));
      return CountCodePoints(v.text().view());
    case Kind::kList:
      return v.items().size();
    case Kind::kMap:
      return v.As<MapObject>().entries.size();
    case Kind::kRange:
      return static_cast<size_t>(v.As<RangeObject>().count);
    case Kind::kLoop:
      return v.As<LoopObject>().items.size();
    default:
      return in.Error("object of type '{}' has no len()", TypeName(v));
  }
}

StatusOr<int64_t> IntArgument(Interpreter& in, const Value& v, std::string_view what,
                              int64_t fallback) {
  if (!v.given() || v.Is(Kind::kNone)) return fallback;
  if (v.Is(Kind::kUndefined)) return in.UndefinedError(v);
  if (!v.IsInteger()) return in.Error("argument '{}': got a {}, want an int", what, TypeName(v));
  return v.i;
}

StatusOr<const Text*> TextArgument(Interpreter& in, const Value& v, std::string_view what) {
  if (!v.given() || v.Is(Kind::kNone)) return nullptr;
  if (v.Is(Kind::kUndefined)) return in.UndefinedError(v);
  if (!v.Is(Kind::kString))
    return in.Error("argument '{}': got a {}, want a str", what, TypeName(v));
  return &v.text();
}

}  // namespace krafla::chat

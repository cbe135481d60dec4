// Writes JSON with Python's spelling of numbers, NaN included.
#include "lib/chat/json_out.h"

#include <cmath>

#include "lib/chat/characters.h"
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

class JsonWriter {
 public:
  JsonWriter(Interpreter& in, const JsonStyle& style) : in_(in), style_(style) {}

  Status Write(const Value& v, size_t level) {
    Nesting nesting(in_);
    if (nesting.too_deep()) return nesting.error();
    KRAFLA_RETURN_IF_ERROR(in_.Step());
    switch (v.kind) {
      case Kind::kNone:
        bytes += "null";
        return OkStatus();
      case Kind::kBool:
        bytes += v.i != 0 ? "true" : "false";
        return OkStatus();
      case Kind::kInt:
        bytes += FormatText("{}", v.i);
        return OkStatus();
      case Kind::kFloat:
        WriteFloat(v.d);
        return OkStatus();
      case Kind::kString:
        WriteString(v.text());
        return in_.CheckRoom(bytes.size());
      case Kind::kMap:
        return WriteMap(v.As<MapObject>(), level);
      case Kind::kList: {
        ListStyle style = v.As<ListObject>().style;
        bool view =
            style == ListStyle::kKeys || style == ListStyle::kValues || style == ListStyle::kItems;
        if (!view) return WriteList(v.items(), level);
        break;
      }
      default:
        break;
    }
    return in_.Error("tojson: object of type {} is not JSON serializable", TypeName(v));
  }

  std::string bytes;
  bool trusted = true;

 private:
  void WriteFloat(double d) {
    bytes += std::isnan(d)   ? "NaN"
             : std::isinf(d) ? (d < 0 ? "-Infinity" : "Infinity")
                             : FloatRepr(d);
  }

  void WriteUnit(uint32_t unit) { bytes += FormatText("\\u{:04x}", unit); }

  void WriteString(const Text& text) {
    trusted = trusted && text.AllTrusted();
    std::string_view s = text.view();
    bytes.push_back('"');
    for (size_t i = 0; i < s.size(); i = NextCodePoint(s, i)) {
      static constexpr std::string_view kFrom = "\"\\\n\r\t\f\b";
      static constexpr std::string_view kTo = "\"\\nrtfb";
      uint32_t c = CodePointAt(s, i);
      size_t escape = c < 0x80 ? kFrom.find(static_cast<char>(c)) : std::string_view::npos;
      if (escape != std::string_view::npos) {
        bytes.push_back('\\');
        bytes.push_back(kTo[escape]);
      } else if (c < 0x20 || (style_.ensure_ascii && c >= 0x7F && c < 0x10000 && c != 0x7F)) {
        WriteUnit(c);
      } else if (style_.ensure_ascii && c >= 0x10000) {
        WriteUnit(0xD800 + ((c - 0x10000) >> 10));
        WriteUnit(0xDC00 + ((c - 0x10000) & 0x3FF));
      } else {
        bytes.append(s.substr(i, NextCodePoint(s, i) - i));
      }
    }
    bytes.push_back('"');
  }

  void NewLine(size_t level) {
    if (!style_.indent) return;
    bytes.push_back('\n');
    for (size_t i = 0; i < level; ++i) bytes += *style_.indent;
  }

  Status WriteList(const std::vector<Value>& items, size_t level) {
    if (items.empty()) {
      bytes += "[]";
      return OkStatus();
    }
    bytes.push_back('[');
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) bytes += style_.item_separator;
      NewLine(level + 1);
      KRAFLA_RETURN_IF_ERROR(Write(items[i], level + 1));
    }
    NewLine(level);
    bytes.push_back(']');
    return OkStatus();
  }

  Status WriteKey(const Value& key) {
    if (key.Is(Kind::kString)) {
      WriteString(key.text());
      return OkStatus();
    }
    if (!key.IsNumber() && !key.Is(Kind::kNone)) {
      return in_.Error("tojson: keys must be strings or numbers, got a {}", TypeName(key));
    }
    bytes.push_back('"');
    KRAFLA_RETURN_IF_ERROR(Write(key, 0));
    bytes.push_back('"');
    return OkStatus();
  }

  Status WriteMap(const MapObject& map, size_t level) {
    if (map.entries.empty()) {
      bytes += "{}";
      return OkStatus();
    }
    std::vector<size_t> order(map.entries.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (style_.sort_keys) {
      std::vector<Value> keys;
      for (const auto& entry : map.entries) keys.push_back(entry.first);
      KRAFLA_ASSIGN_OR_RETURN(order, SortOrder(in_, keys, false));
    }
    bytes.push_back('{');
    for (size_t i = 0; i < order.size(); ++i) {
      if (i > 0) bytes += style_.item_separator;
      NewLine(level + 1);
      KRAFLA_RETURN_IF_ERROR(WriteKey(map.entries[order[i]].first));
      bytes += style_.key_separator;
      KRAFLA_RETURN_IF_ERROR(Write(map.entries[order[i]].second, level + 1));
    }
    NewLine(level);
    bytes.push_back('}');
    return OkStatus();
  }

  Interpreter& in_;
  const JsonStyle& style_;
};

}  // namespace

StatusOr<Value> ToJson(Interpreter& in, const Value& v, const JsonStyle& style) {
  JsonWriter writer(in, style);
  KRAFLA_RETURN_IF_ERROR(writer.Write(v, 0));
  return in.String(std::move(writer.bytes), writer.trusted);
}

}  // namespace krafla::chat

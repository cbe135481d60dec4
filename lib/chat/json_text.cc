// See json_text.h.
#include "lib/chat/json_text.h"

#include <cstdint>

#include "lib/base/format.h"
#include "lib/base/utf8.h"

namespace krafla::chat {
namespace {

constexpr size_t kMaxDepth = 128;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The value of a hexadecimal digit, or -1.
int HexDigit(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Walks over JSON without recursion. Each member function takes what it names and tells whether it
// was there.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {}

  bool Value() {
    std::string open;  // of each object and list around: '{' or '['
    for (;;) {
      Space();
      if (at_ == text_.size()) return false;
      const char c = text_[at_];
      bool closed = true;  // a value is complete
      if (c == '{' || c == '[') {
        if (open.size() == kMaxDepth) return false;
        ++at_;
        open.push_back(c);
        Space();
        const char end = c == '{' ? '}' : ']';
        closed = at_ < text_.size() && text_[at_] == end;
        if (closed) {
          ++at_;
          open.pop_back();
        } else if (c == '{' && !Key()) {
          return false;
        }
      } else if (!Scalar()) {
        return false;
      }
      while (closed) {
        Space();
        if (open.empty()) return at_ == text_.size();
        if (at_ == text_.size()) return false;
        const char next = text_[at_++];
        if (next == ',') {
          if (open.back() == '{' && !Key()) return false;
          closed = false;
        } else if (next == (open.back() == '{' ? '}' : ']')) {
          open.pop_back();
        } else {
          return false;
        }
      }
    }
  }

 private:
  void Space() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) < 4) ++at_;
  }
  bool Take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool Key() {
    Space();
    if (!String()) return false;
    Space();
    return Take(':');
  }
  bool String() {
    if (!Take('"')) return false;
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') return true;
      if (static_cast<unsigned char>(c) < 0x20) return false;
      if (c != '\\') continue;
      if (at_ == text_.size()) return false;
      const char escape = text_[at_++];
      if (escape == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (at_ == text_.size() || HexDigit(text_[at_++]) < 0) return false;
        }
      } else if (std::string_view("\"\\/bfnrt").find(escape) == std::string_view::npos) {
        return false;
      }
    }
    return false;
  }
  bool Digits() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    return at_ > begin;
  }
  bool Number() {
    (void)Take('-');
    if (!Take('0') && !Digits()) return false;
    if (Take('.') && !Digits()) return false;
    if (!Take('e') && !Take('E')) return true;
    if (!Take('+')) (void)Take('-');
    return Digits();
  }
  bool Scalar() {
    if (text_[at_] == '"') return String();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (!text_.substr(at_).starts_with(word)) continue;
      at_ += word.size();
      return true;
    }
    return Number();
  }

  std::string_view text_;
  size_t at_ = 0;
};

// The number of "XXXX" at `at`.
uint32_t HexNumber(std::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value * 16 + static_cast<uint32_t>(HexDigit(text[at + i]));
  return value;
}

}  // namespace

bool IsJson(std::string_view text, bool* is_object) {
  const bool is = Walker(text).Value();
  if (is_object != nullptr) {
    const size_t begin = text.find_first_not_of(" \t\n\r");
    *is_object = is && text[begin] == '{';
  }
  return is;
}

std::string UnescapeJson(std::string_view quoted) {
  std::string text;
  if (!quoted.starts_with('"') || !IsJson(quoted)) return text;
  quoted = quoted.substr(1, quoted.rfind('"') - 1);
  for (size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text.push_back(quoted[i]);
      continue;
    }
    const char escape = quoted[++i];
    if (escape != 'u') {
      constexpr std::string_view kNames = "bfnrt", kMeanings = "\b\f\n\r\t";
      const size_t at = kNames.find(escape);
      text.push_back(at == std::string_view::npos ? escape : kMeanings[at]);
      continue;
    }
    uint32_t code = HexNumber(quoted, i + 1);
    i += 4;
    if (code >= 0xD800 && code < 0xE000) {
      uint32_t low = 0;
      if (code < 0xDC00 && quoted.substr(i + 1).starts_with("\\u")) low = HexNumber(quoted, i + 3);
      if (low >= 0xDC00 && low < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        i += 6;
      } else {
        code = kReplacementCharacter;
      }
    }
    AppendUtf8(code, &text);
  }
  return text;
}

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out->append(FormatText("\\u{:04x}", static_cast<unsigned>(c)));
    } else {
      out->push_back(c);
    }
  }
  out->push_back('"');
}

}  // namespace krafla::chat

// The lexer. Text between tags is stripped here: `-` strips all white space, and without `+` a
// block or comment tag that opens its line loses the blanks before it and the line end after it.
#include "lib/chat/lexer.h"

#include "lib/chat/characters.h"

namespace krafla::chat {
namespace {

bool IsNameStart(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}
bool IsDigitByte(unsigned char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(unsigned char c) { return IsNameStart(c) || IsDigitByte(c); }

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  StatusOr<std::vector<Token>> Run() {
    while (position_ < source_.size()) KRAFLA_RETURN_IF_ERROR(LexRoot());
    Add(TokenType::kEnd, source_.size(), source_.size());
    return std::move(tokens_);
  }

 private:
  char At(size_t i) const { return i < source_.size() ? source_[i] : '\0'; }
  bool Matches(size_t i, std::string_view what) const {
    return i <= source_.size() && source_.substr(i, what.size()) == what;
  }
  size_t SkipSpace(size_t i) const {
    while (i < source_.size() && IsSpace(CodePointAt(source_, i))) i = NextCodePoint(source_, i);
    return i;
  }

  uint32_t LineAt(size_t offset) {
    // Offsets mostly grow: count on from the last one.
    if (offset < counted_) counted_ = 0, line_ = 1;
    for (; counted_ < offset; ++counted_) line_ += source_[counted_] == '\n';
    return line_;
  }
  void Add(TokenType type, size_t begin, size_t end) {
    tokens_.push_back({type, LineAt(begin), source_.substr(begin, end - begin)});
  }
  Status Fail(size_t offset, std::string_view what) {
    return TemplateError("chat template, line {}: {}", LineAt(offset), what);
  }

  // The text from position_ up to a tag at `end` whose sign is at end + 2.
  void AddText(size_t end, bool variable) {
    size_t begin = position_;
    std::string_view text = source_.substr(begin, end - begin);
    char sign = At(end + 2);
    if (sign == '-') {
      text = text.substr(0, StripRange(text, nullptr, false, true).second);
    } else if (sign != '+' && !variable) {
      size_t newline = text.rfind('\n');
      size_t line_begin = newline == std::string_view::npos ? 0 : newline + 1;
      if (line_begin > 0 || line_starting_) {
        std::string_view last = text.substr(line_begin);
        if (StripRange(last, nullptr, true, false).first == last.size()) {
          text = text.substr(0, line_begin);
        }
      }
    }
    if (!text.empty()) Add(TokenType::kText, begin, begin + text.size());
  }
  void MoveTo(size_t position) {
    position_ = position;
    line_starting_ = position > 0 && source_[position - 1] == '\n';
  }

  // If a tag ends at i ("%}", "-%}", "+%}" with close = '%'), the offset after it and after what it
  // strips.
  bool TagEnd(size_t i, char close, size_t* after) const {
    char sign = At(i);
    bool signed_end = sign == '-' || (sign == '+' && close != '}');
    size_t at = signed_end ? i + 1 : i;
    if (At(at) != close || At(at + 1) != '}') return false;
    *after = at + 2;
    if (sign == '-') {
      *after = SkipSpace(*after);
    } else if (!signed_end && close != '}' && At(*after) == '\n') {
      ++*after;
    }
    return true;
  }

  Status LexRoot() {
    size_t tag = position_;
    while (true) {
      tag = source_.find('{', tag);
      if (tag == std::string_view::npos) break;
      char kind = At(tag + 1);
      if (kind == '{' || kind == '%' || kind == '#') break;
      ++tag;
    }
    if (tag == std::string_view::npos) {
      Add(TokenType::kText, position_, source_.size());
      MoveTo(source_.size());
      return OkStatus();
    }
    char kind = source_[tag + 1];
    AddText(tag, kind == '{');
    size_t inner = tag + 2;
    if (At(inner) == '-' || At(inner) == '+') ++inner;
    if (kind == '#') return LexComment(tag, inner);
    if (kind == '%') {
      size_t after = 0;
      if (RawTag(inner, "raw", &after)) return LexRaw(tag, after);
    }
    Add(kind == '{' ? TokenType::kVariableBegin : TokenType::kBlockBegin, tag, inner);
    position_ = inner;
    return LexExpression(kind == '{' ? '}' : '%', tag);
  }

  Status LexComment(size_t tag, size_t inner) {
    size_t end = source_.find("#}", inner);
    if (end == std::string_view::npos) return Fail(tag, "missing end of comment tag");
    size_t after = end + 2;
    char sign = end > inner ? source_[end - 1] : '\0';
    if (sign == '-') {
      after = SkipSpace(after);
    } else if (sign != '+' && At(after) == '\n') {
      ++after;
    }
    MoveTo(after);
    return OkStatus();
  }

  // `raw %}` or `endraw %}` at i; only endraw takes `+` and trims the line end.
  bool RawTag(size_t i, std::string_view word, size_t* after) const {
    i = SkipSpace(i);
    if (!Matches(i, word)) return false;
    i = SkipSpace(i + word.size());
    if (word == "endraw") return TagEnd(i, '%', after);
    if (Matches(i, "-%}")) return *after = SkipSpace(i + 3), true;
    if (Matches(i, "%}")) return *after = i + 2, true;
    return false;
  }

  Status LexRaw(size_t tag, size_t begin) {
    MoveTo(begin);
    for (size_t i = begin; (i = source_.find("{%", i)) != std::string_view::npos; i += 2) {
      size_t inner = i + 2;
      if (At(inner) == '-' || At(inner) == '+') ++inner;
      size_t after = 0;
      if (!RawTag(inner, "endraw", &after)) continue;
      AddText(i, false);
      MoveTo(after);
      return OkStatus();
    }
    return Fail(tag, "missing end of raw directive");
  }

  Status LexExpression(char close, size_t tag) {
    std::string brackets;  // closing brackets still awaited
    while (true) {
      size_t i = position_ = SkipSpace(position_);
      if (i >= source_.size()) {
        return Fail(tag, close == '%' ? "missing end of block tag '%}'" : "missing end of '{{'");
      }
      size_t after = 0;
      if (brackets.empty() && TagEnd(i, close, &after)) {
        Add(close == '%' ? TokenType::kBlockEnd : TokenType::kVariableEnd, i, after);
        MoveTo(after);
        return OkStatus();
      }
      unsigned char c = static_cast<unsigned char>(source_[i]);
      if (IsDigitByte(c)) {
        LexNumber();
      } else if (IsNameStart(c)) {
        while (IsNamePart(static_cast<unsigned char>(At(position_)))) ++position_;
        Add(TokenType::kName, i, position_);
      } else if (c == '\'' || c == '"') {
        KRAFLA_RETURN_IF_ERROR(LexString());
      } else {
        KRAFLA_RETURN_IF_ERROR(LexOperator(&brackets));
      }
    }
  }

  void LexNumber() {
    size_t begin = position_;
    size_t i = begin;
    auto digits = [&](auto accepts) {
      while (accepts(At(i)) || (At(i) == '_' && accepts(At(i + 1)))) ++i;
    };
    auto decimal = [](char c) { return IsDigitByte(static_cast<unsigned char>(c)); };
    char base = At(i) == '0' ? static_cast<char>(At(i + 1) | 0x20) : '\0';
    if (base == 'x' || base == 'o' || base == 'b') {
      i += 2;
      digits([&](char c) {
        if (base == 'x') return std::string_view("0123456789abcdefABCDEF").find(c) < 22;
        return c >= '0' && c <= (base == 'o' ? '7' : '1');
      });
      if (i > begin + 2) {
        Add(TokenType::kInteger, begin, position_ = i);
        return;
      }
      i = begin;
    }
    digits(decimal);
    bool after_dot = begin > 0 && source_[begin - 1] == '.';  // x.0.1 is two subscripts
    bool is_float = false;
    if (!after_dot && At(i) == '.' && decimal(At(i + 1))) {
      is_float = true;
      ++i;
      digits(decimal);
    }
    if (!after_dot && (At(i) == 'e' || At(i) == 'E')) {
      size_t sign = At(i + 1) == '+' || At(i + 1) == '-' ? 2 : 1;
      if (decimal(At(i + sign))) {
        is_float = true;
        i += sign;
        digits(decimal);
      }
    }
    position_ = i;
    Add(is_float ? TokenType::kFloat : TokenType::kInteger, begin, i);
  }

  Status LexString() {
    size_t begin = position_;
    char quote = source_[begin];
    size_t i = begin + 1;
    while (i < source_.size() && source_[i] != quote) i += source_[i] == '\\' ? 2 : 1;
    if (i >= source_.size()) return Fail(begin, "string without end");
    Add(TokenType::kString, begin + 1, i);
    position_ = i + 1;
    return OkStatus();
  }

  Status LexOperator(std::string* brackets) {
    size_t i = position_;
    static constexpr std::string_view kDouble[] = {"//", "**", "==", "!=", ">=", "<="};
    for (std::string_view op : kDouble) {
      if (Matches(i, op)) {
        Add(TokenType::kOperator, i, position_ = i + 2);
        return OkStatus();
      }
    }
    char c = source_[i];
    if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
      size_t end = NextCodePoint(source_, i);
      return Fail(i, FormatText("unexpected character '{}'", source_.substr(i, end - i)));
    }
    if (c == '(') brackets->push_back(')');
    if (c == '[') brackets->push_back(']');
    if (c == '{') brackets->push_back('}');
    if (c == ')' || c == ']' || c == '}') {
      if (brackets->empty()) return Fail(i, FormatText("unexpected '{}'", c));
      if (brackets->back() != c) {
        return Fail(i, FormatText("unexpected '{}', expected '{}'", c, brackets->back()));
      }
      brackets->pop_back();
    }
    Add(TokenType::kOperator, i, position_ = i + 1);
    return OkStatus();
  }

  std::string_view source_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  bool line_starting_ = true;
  size_t counted_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

std::string NormaliseSource(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out.push_back('\n');
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out.push_back(source[i]);
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

StatusOr<std::vector<Token>> Tokenise(std::string_view source) { return Lexer(source).Run(); }

}  // namespace krafla::chat

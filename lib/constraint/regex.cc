// The parser: a loop over a stack of open groups, so that no nesting can overflow the program's own
// stack.
#include "lib/constraint/regex.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/constraint/text_cursor.h"

namespace krafla {
namespace {

constexpr size_t kMaxGroups = 200;  // one in another
constexpr size_t kMaxPattern = 65536;
constexpr uint32_t kMaxCount = 100000;  // of a repetition

bool IsAsciiLetterOrDigit(uint32_t c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

class Parser : private TextCursor {
 public:
  Parser(std::string_view pattern, Grammar* grammar) : TextCursor(pattern), grammar_(*grammar) {}

  StatusOr<ExprId> Parse() {
    if (text_.size() > kMaxPattern) {
      return ArgumentError("regex: got {} bytes, want at most {}", text_.size(), kMaxPattern);
    }
    if (const size_t valid = ValidUtf8Prefix(text_); valid != text_.size()) {
      return ArgumentError("regex: byte {}: not UTF-8", valid);
    }
    open_.emplace_back();
    while (at_ < text_.size()) KRAFLA_RETURN_IF_ERROR(Step());
    if (open_.size() > 1) {
      return ArgumentError("regex: byte {}: group is not closed", open_.back().begin);
    }
    return Close();
  }

 private:
  struct Group {
    size_t begin = 0;
    std::vector<ExprId> branches;
    std::vector<ExprId> items;
    bool repeatable = false;  // the last item may take a quantifier
  };

  Status Fail(std::string_view what) const {
    return ArgumentError("regex: byte {}: {}", at_, what);
  }
  Status Refuse(std::string_view what) const {
    return UnsupportedError("regex: byte {}: {} is not supported", at_, what);
  }
  void Put(ExprId expr, bool repeatable) {
    open_.back().items.push_back(expr);
    open_.back().repeatable = repeatable;
  }

  ExprId Close() {
    Group& group = open_.back();
    group.branches.push_back(grammar_.Sequence(group.items));
    const ExprId expr = grammar_.Choice(group.branches);
    open_.pop_back();
    return expr;
  }

  Status Step() {
    switch (text_[at_]) {
      case '|':
        ++at_;
        open_.back().branches.push_back(grammar_.Sequence(open_.back().items));
        open_.back().items.clear();
        open_.back().repeatable = false;
        return OkStatus();
      case '(':
        return OpenGroup();
      case ')': {
        if (open_.size() == 1) return Fail("unmatched )");
        ++at_;
        const ExprId expr = Close();
        Put(expr, true);
        return OkStatus();
      }
      case '^':
      case '$':
        Put(grammar_.Add({text_[at_++] == '^' ? ExprKind::kBegin : ExprKind::kEnd}), false);
        return OkStatus();
      case '*':
      case '+':
      case '?':
      case '{':
        return Quantifier();
      case '.':
        ++at_;
        Put(grammar_.Class(CodePointSet{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}.Complement()),
            true);
        return OkStatus();
      case '[': {
        KRAFLA_ASSIGN_OR_RETURN(CodePointSet set, Class());
        Put(grammar_.Class(std::move(set)), true);
        return OkStatus();
      }
      default: {
        CodePointSet set;
        KRAFLA_RETURN_IF_ERROR(Atom(false, &set).status());
        Put(grammar_.Class(std::move(set)), true);
        return OkStatus();
      }
    }
  }

  Status OpenGroup() {
    for (std::string_view look : {"(?=", "(?!", "(?<=", "(?<!"}) {
      if (text_.substr(at_).starts_with(look)) return Refuse(look);
    }
    if (open_.size() > kMaxGroups) {
      return Fail(FormatText("more than {} groups in one another", kMaxGroups));
    }
    Group group;
    group.begin = at_++;
    if (Skip("?:")) {
    } else if (Skip("?<") || Skip("?P<")) {
      const size_t end = text_.find('>', at_);
      if (end == text_.npos) return Fail("group name is not closed");
      at_ = end + 1;
    } else if (at_ < text_.size() && text_[at_] == '?') {
      return Refuse(text_.substr(at_ - 1, 3));
    }
    open_.push_back(std::move(group));
    return OkStatus();
  }

  Status Quantifier() {
    const size_t begin = at_;
    uint32_t min = 0, max = kUnbounded;
    const char c = text_[at_++];
    if (c == '+') min = 1;
    if (c == '?') max = 1;
    if (c == '{') {
      const bool any = Number(kMaxCount, &min);
      bool valid = any;
      max = min;
      if (any && Skip(",")) {
        if (!Number(kMaxCount, &max)) max = kUnbounded;
      }
      valid = valid && Skip("}");
      if (!valid) {
        at_ = begin;
        return Fail("{ begins no repetition {m}, {m,} or {m,n}; a brace is written \\{");
      }
      const std::string_view given = text_.substr(begin, std::min<size_t>(at_ - begin, 40));
      if (min > kMaxCount || (max != kUnbounded && (max > kMaxCount || max < min))) {
        at_ = begin;
        return Fail(
            FormatText("repetition: got {}, want bounds in order up to {}", given, kMaxCount));
      }
    }
    if (!std::exchange(open_.back().repeatable, false)) {
      at_ = begin;
      return Fail("nothing to repeat");
    }
    Skip("?");  // lazy: the same language
    ExprId& last = open_.back().items.back();
    last = grammar_.Repeat(last, min, max);
    return OkStatus();
  }

  // [...]
  StatusOr<CodePointSet> Class() {
    const size_t begin = at_++;
    const bool negated = Skip("^");
    CodePointSet set;
    for (;;) {
      if (at_ >= text_.size()) {
        at_ = begin;
        return Fail("class is not closed");
      }
      if (Skip("]")) break;
      const size_t item = at_;
      CodePointSet one;
      KRAFLA_ASSIGN_OR_RETURN(const std::optional<uint32_t> first, Atom(true, &one));
      if (first && text_.substr(at_).starts_with("-") && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        if (at_ >= text_.size()) continue;
        CodePointSet end;
        KRAFLA_ASSIGN_OR_RETURN(const std::optional<uint32_t> last, Atom(true, &end));
        if (last && *last < *first) {
          at_ = item;
          return Fail("range of a class is out of order");
        }
        if (last) {
          set.Add(*first, *last);
          continue;
        }
        one.Add('-', '-');
        one.Add(end);
      }
      set.Add(one);
    }
    return negated ? set.Complement() : set;
  }

  // A character or an escape; the character where it is one.
  StatusOr<std::optional<uint32_t>> Atom(bool in_class, CodePointSet* set) {
    uint32_t value = 0;
    if (text_[at_] != '\\') {
      const CodePoint c = DecodeUtf8(text_.substr(at_));
      at_ += c.length;
      value = c.value;
    } else {
      if (at_ + 1 >= text_.size()) return Fail("\\ at the end");
      if (CodePointSet named = RegexClass(text_[at_ + 1]); !named.empty()) {
        at_ += 2;
        *set = std::move(named);
        return std::optional<uint32_t>();
      }
      KRAFLA_ASSIGN_OR_RETURN(value, Escape(in_class));
    }
    set->Add(value, value);
    return std::optional<uint32_t>(value);
  }

  StatusOr<uint32_t> Escape(bool in_class) {
    const CodePoint c = DecodeUtf8(text_.substr(at_ + 1));
    const std::string_view whole = text_.substr(at_, 1 + c.length);
    if (in_class && c.value == 'b') return Taken(2, 8);
    switch (c.value) {
      case 't':
        return Taken(2, '\t');
      case 'n':
        return Taken(2, '\n');
      case 'r':
        return Taken(2, '\r');
      case 'f':
        return Taken(2, '\f');
      case 'v':
        return Taken(2, '\v');
      case '0':
        if (at_ + 2 < text_.size() && text_[at_ + 2] >= '0' && text_[at_ + 2] <= '9') {
          return Refuse("an octal escape");
        }
        return Taken(2, 0);
      case 'c': {
        const char letter = at_ + 2 < text_.size() ? text_[at_ + 2] : '\0';
        if (!IsAsciiLetterOrDigit(static_cast<uint8_t>(letter)) || letter < 'A') {
          return Fail("\\c wants a letter");
        }
        return Taken(3, static_cast<uint32_t>(letter) % 32);
      }
      case 'x':
        return Hex(2, 2);
      case 'u':
        if (text_.substr(at_ + 2).starts_with("{")) {
          const size_t end = text_.find('}', at_);
          if (end == text_.npos || end - at_ < 4 || end - at_ > 9)
            return Fail("\\u{...} is malformed");
          KRAFLA_ASSIGN_OR_RETURN(const uint32_t value, Hex(3, end - at_ - 3));
          ++at_;
          return value;
        }
        return Surrogates();
      default:
        break;
    }
    if (IsAsciiLetterOrDigit(c.value)) return Refuse(whole);
    return Taken(1 + c.length, c.value);
  }

  StatusOr<uint32_t> Taken(size_t n, uint32_t value) {
    at_ += n;
    return value;
  }

  StatusOr<uint32_t> Hex(size_t skip, size_t digits) {
    uint32_t value = 0;
    for (size_t i = at_ + skip; i < at_ + skip + digits; ++i) {
      const char c = i < text_.size() ? text_[i] : '\0';
      uint32_t digit = 16;
      if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
      if (c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a' + 10);
      if (c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A' + 10);
      if (digit == 16) return Fail("an escape wants hexadecimal digits");
      value = value * 16 + digit;
    }
    if (value > kMaxCodePoint) return Fail("a character beyond U+10FFFF");
    at_ += skip + digits;
    return value;
  }

  // \uD83D\uDE00 is one character.
  StatusOr<uint32_t> Surrogates() {
    KRAFLA_ASSIGN_OR_RETURN(const uint32_t high, Hex(2, 4));
    if (high < 0xD800 || high > 0xDBFF || !text_.substr(at_).starts_with("\\u")) return high;
    const size_t before = at_;
    KRAFLA_ASSIGN_OR_RETURN(const uint32_t low, Hex(2, 4));
    if (low >= 0xDC00 && low <= 0xDFFF) return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    at_ = before;
    return high;
  }

  Grammar& grammar_;
  std::vector<Group> open_;
};

}  // namespace

CodePointSet RegexClass(char letter) {
  CodePointSet set;
  switch (letter | 0x20) {
    case 'd':
      set = {{'0', '9'}};
      break;
    case 'w':
      set = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      break;
    case 's':
      set = {{'\t', '\r'},     {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680},
             {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
             {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
      break;
    default:
      return set;
  }
  const bool upper = letter >= 'A' && letter <= 'Z';
  return upper ? set.Complement() : set;
}

StatusOr<ExprId> ParseRegex(std::string_view pattern, Grammar* grammar) {
  return Parser(pattern, grammar).Parse();
}

StatusOr<Grammar> ReadRegex(std::string_view pattern) {
  KRAFLA_ASSIGN_OR_RETURN(CharDfa dfa, RegexDfa(pattern, RegexMatch::kWhole));
  Grammar grammar;
  grammar.root = grammar.AddRule("regex");
  grammar.rules[0].body = grammar.Strings(std::move(dfa));
  return grammar;
}

}  // namespace krafla

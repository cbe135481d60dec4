// The grammars of llama.cpp: `name ::= ...` over several lines, literals "..." and classes [...]
// with C escapes, `.`, groups, | and the repetitions * + ? {m} {m,} {m,n}; # begins a comment. A
// loop over a stack of open groups, so that no nesting can overflow the program's own stack.
#include <algorithm>
#include <map>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/constraint/grammar.h"
#include "lib/constraint/text_cursor.h"

namespace krafla {
namespace {

constexpr size_t kMaxGroups = 200;  // one in another
constexpr size_t kMaxRules = 20000;
constexpr uint32_t kMaxCount = 1'000'000;  // of a repetition

bool IsNameChar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_';
}

class GbnfParser : private TextCursor {
 public:
  explicit GbnfParser(std::string_view text) : TextCursor(text) {}

  StatusOr<Grammar> Parse() {
    if (text_.size() > kMaxSourceBytes) {
      return ArgumentError("grammar: got {} bytes, want at most {}", text_.size(), kMaxSourceBytes);
    }
    if (const size_t valid = ValidUtf8Prefix(text_); valid != text_.size()) {
      return ArgumentError("grammar: byte {}: not UTF-8", valid);
    }
    Space(true);
    while (at_ < text_.size()) KRAFLA_RETURN_IF_ERROR(ParseRule());
    const auto root = rules_.find("root");
    if (root == rules_.end()) {
      return ArgumentError("grammar: byte {}: no rule is named root", text_.size());
    }
    for (const auto& [name, entry] : rules_) {
      if (entry.defined) continue;
      return ArgumentError("grammar: byte {}: rule {} is not defined", entry.used, name);
    }
    grammar_.root = root->second.id;
    return std::move(grammar_);
  }

 private:
  struct Entry {
    RuleId id = 0;
    bool defined = false;
    size_t used = 0;  // where it was named first
  };
  struct Group {
    size_t begin = 0;
    std::vector<ExprId> branches, items;
  };

  Status Fail(std::string_view what) const {
    return ArgumentError(
        "grammar: byte {} (line {}): {}", at_,
        std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n') + 1, what);
  }
  void Space(bool lines) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view Name() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameChar(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  StatusOr<Entry*> RuleNamed(std::string_view name, size_t where) {
    const auto [it, added] = rules_.try_emplace(std::string(name));
    if (added) {
      if (rules_.size() > kMaxRules) return Fail(FormatText("more than {} rules", kMaxRules));
      it->second.used = where;
      it->second.id =
          grammar_.AddRule(std::string(name.substr(0, 64)), static_cast<uint32_t>(where));
    }
    return &it->second;
  }

  Status ParseRule() {
    const size_t begin = at_;
    const std::string_view name = Name();
    if (name.empty()) return Fail("want the name of a rule");
    KRAFLA_ASSIGN_OR_RETURN(Entry * entry, RuleNamed(name, begin));
    if (entry->defined) {
      at_ = begin;
      return Fail(FormatText("rule {} is defined twice", name));
    }
    Space(false);
    if (!Skip("::=")) return Fail("want ::= behind the name of a rule");
    entry->defined = true;
    grammar_.rules[entry->id].position = static_cast<uint32_t>(begin);
    Space(true);
    groups_.clear();
    groups_.emplace_back();
    for (bool more = true; more;) KRAFLA_RETURN_IF_ERROR(Step(&more));
    if (groups_.size() > 1) {
      at_ = groups_.back().begin;
      return Fail("group is not closed");
    }
    grammar_.rules[entry->id].body = Close();
    Space(true);
    return OkStatus();
  }

  ExprId Close() {
    Group& group = groups_.back();
    group.branches.push_back(grammar_.Sequence(group.items));
    const ExprId expr = grammar_.Choice(group.branches);
    groups_.pop_back();
    return expr;
  }

  // One item of the present group, or its end.
  Status Step(bool* more) {
    Space(groups_.size() > 1);
    Group& group = groups_.back();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (Skip("|")) {
      group.branches.push_back(grammar_.Sequence(group.items));
      group.items.clear();
      Space(true);
    } else if (Skip("(")) {
      if (groups_.size() > kMaxGroups) {
        return Fail(FormatText("more than {} groups in one another", kMaxGroups));
      }
      Group inner;
      inner.begin = at_ - 1;
      groups_.push_back(std::move(inner));
      Space(true);
    } else if (c == ')' && groups_.size() > 1) {
      ++at_;
      const ExprId expr = Close();
      return Item(expr);
    } else if (c == '"') {
      KRAFLA_ASSIGN_OR_RETURN(const std::string text, Literal());
      return Item(grammar_.Bytes(text));
    } else if (c == '[') {
      KRAFLA_ASSIGN_OR_RETURN(CodePointSet set, Class());
      return Item(grammar_.Class(std::move(set)));
    } else if (Skip(".")) {
      return Item(grammar_.Class(CodePointSet::All()));
    } else if (IsNameChar(c)) {
      const size_t begin = at_;
      KRAFLA_ASSIGN_OR_RETURN(const Entry* entry, RuleNamed(Name(), begin));
      return Item(grammar_.Call(entry->id));
    } else if (at_ == text_.size() || c == '\n' || c == '\r') {
      *more = false;
    } else {
      return Fail(FormatText("unexpected '{}'", ReplaceInvalidUtf8(text_.substr(at_, 1))));
    }
    return OkStatus();
  }

  // An item with the repetitions behind it.
  Status Item(ExprId expr) {
    uint32_t depth = 0;
    for (;;) {
      Space(groups_.size() > 1);
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      uint32_t min = 0, max = kUnbounded;
      if (c == '+') {
        min = 1;
      } else if (c == '?') {
        max = 1;
      } else if (c == '{') {
        KRAFLA_RETURN_IF_ERROR(Braces(&min, &max));
        --at_;
      } else if (c != '*') {
        break;
      }
      ++at_;
      if (++depth > 16) return Fail("more than 16 repetitions of one item");
      expr = grammar_.Repeat(expr, min, max);
    }
    groups_.back().items.push_back(expr);
    return OkStatus();
  }

  Status Braces(uint32_t* min, uint32_t* max) {
    const size_t begin = at_++;
    Space(true);
    bool valid = Number(kMaxCount, min);
    *max = *min;
    Space(true);
    if (valid && Skip(",")) {
      Space(true);
      if (!Number(kMaxCount, max)) *max = kUnbounded;
      Space(true);
    }
    valid = valid && Skip("}");
    if (valid && *min <= kMaxCount && *min <= *max && (*max == kUnbounded || *max <= kMaxCount)) {
      return OkStatus();
    }
    at_ = begin;
    return Fail(FormatText("want {{m}}, {{m,}} or {{m,n}} with m <= n <= {}", kMaxCount));
  }

  StatusOr<std::string> Literal() {
    const size_t begin = at_++;
    std::string out;
    while (!Skip("\"")) {
      if (at_ >= text_.size() || text_[at_] == '\n') {
        at_ = begin;
        return Fail("literal is not closed");
      }
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t c, Character());
      AppendUtf8(c, &out);
    }
    return out;
  }

  StatusOr<CodePointSet> Class() {
    const size_t begin = at_++;
    const bool negated = Skip("^");
    CodePointSet set;
    while (!Skip("]")) {
      if (at_ >= text_.size() || text_[at_] == '\n') {
        at_ = begin;
        return Fail("class is not closed");
      }
      const size_t item = at_;
      KRAFLA_ASSIGN_OR_RETURN(const uint32_t first, Character());
      uint32_t last = first;
      if (At("-") && !At("-]") && at_ + 1 < text_.size()) {
        ++at_;
        KRAFLA_ASSIGN_OR_RETURN(last, Character());
      }
      if (last < first) {
        at_ = item;
        return Fail("range of a class is out of order");
      }
      set.Add(first, last);
    }
    return negated ? set.Complement() : set;
  }

  StatusOr<uint32_t> Character() {
    if (text_[at_] != '\\') {
      const CodePoint c = DecodeUtf8(text_.substr(at_));
      at_ += c.length;
      return c.value;
    }
    const char letter = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    uint32_t value = static_cast<uint8_t>(letter);
    size_t digits = 0;
    switch (letter) {
      case 'n':
        value = '\n';
        break;
      case 'r':
        value = '\r';
        break;
      case 't':
        value = '\t';
        break;
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        break;
      case 'x':
        digits = 2;
        break;
      case 'u':
        digits = 4;
        break;
      case 'U':
        digits = 8;
        break;
      default:
        return Fail("unknown escape, want one of n r t \\ \" [ ] - ^ x u U");
    }
    if (digits != 0) {
      value = 0;
      for (size_t i = at_ + 2; i < at_ + 2 + digits; ++i) {
        const std::string_view hex = "0123456789abcdef";
        const char c = i < text_.size() ? text_[i] : '?';
        const size_t digit = hex.find(c >= 'A' && c <= 'F' ? static_cast<char>(c + 32) : c);
        if (digit == hex.npos) return Fail("an escape wants hexadecimal digits");
        value = value * 16 + static_cast<uint32_t>(digit);
      }
      if (value > kMaxCodePoint || (value >= 0xD800 && value <= 0xDFFF)) {
        return Fail("an escape stands for no character");
      }
    }
    at_ += 2 + digits;
    return value;
  }

  Grammar grammar_;
  std::map<std::string, Entry, std::less<>> rules_;
  std::vector<Group> groups_;
};

}  // namespace

StatusOr<Grammar> ReadGbnf(std::string_view text) { return GbnfParser(text).Parse(); }

}  // namespace krafla

// Oniguruma to PCRE2. The differences that matter: \s \w \h mean other sets, general categories are
// those of a newer Unicode, x{n,m}+ is a repeated repeat and not a possessive one, {,n} is a
// repeat, \uHHHH is a code point, and a class may hold classes and intersections (refused: no
// tokenizer known to us uses them).
#include <cctype>
#include <string>
#include <vector>

#include "lib/tokenizer/pattern.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

// Class bodies.
constexpr std::string_view kSpaces =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view kNotSpaces =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";
// Extensions of CJK since Unicode 14.
constexpr std::string_view kNewHan = R"(\x{2ebf0}-\x{2ee5d}\x{31350}-\x{323af})";

// "L" or "Lu": the ranges that an older Unicode lacks.
std::string NewRanges(std::string_view name) {
  std::string ranges;
  for (const CategoryRange& range : NewCategories()) {
    if (!CategoryName(range.category).starts_with(name)) continue;
    ranges += FormatText("\\x{{{:x}}}-\\x{{{:x}}}", range.first, range.last);
  }
  return ranges;
}

bool IsCategory(std::string_view name) {
  constexpr std::string_view kMajors = "LMNPSZC";
  if (name.size() == 1) return kMajors.find(name[0]) != kMajors.npos;
  return CategoryByName(name) >= 0;
}

// The body of a class that holds what \p{name} does.
std::string PropertyBody(std::string_view name) {
  std::string body = FormatText("\\p{{{}}}", name);
  if (name == "Han") body += kNewHan;
  if (IsCategory(name) && name[0] != 'C') body += NewRanges(name);
  return body;
}

std::string WordBody() {
  return PropertyBody("L") + PropertyBody("M") + PropertyBody("Nd") + PropertyBody("Nl") +
         PropertyBody("Pc") +
         R"(\x{24b6}-\x{24e9}\x{1f130}-\x{1f149}\x{1f150}-\x{1f169}\x{1f170}-\x{1f189})";
}

class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  StatusOr<std::string> Run() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      Status status;
      if (c == '\\') {
        atom_ = out_.size();
        status = Escape(/*in_class=*/false);
      } else if (c == '[') {
        atom_ = out_.size();
        status = Class();
      } else if (c == '{') {
        status = Braces();
      } else if (c == '(') {
        status = Open();
      } else if (c == ')') {
        if (groups_.empty()) return FileError("tokenizer: pattern {}: unmatched )", in_);
        atom_ = groups_.back();
        groups_.pop_back();
        Copy(1);
      } else {
        if (c != '?' && c != '*' && c != '+') atom_ = out_.size();
        Copy(1);
        // The rest of a UTF-8 sequence belongs to the same atom.
        while (at_ < in_.size() && (static_cast<uint8_t>(in_[at_]) & 0xC0) == 0x80) Copy(1);
      }
      KRAFLA_RETURN_IF_ERROR(status);
    }
    return std::move(out_);
  }

 private:
  Status Refuse(std::string_view what) const {
    return UnsupportedError("tokenizer: pattern {}: {} at byte {} is not supported", in_, what,
                            at_);
  }
  void Copy(size_t n) {
    n = std::min(n, in_.size() - at_);
    out_.append(in_, at_, n);
    at_ += n;
  }
  // A class body as an atom, or as part of the class that is open.
  void Put(std::string_view body, bool negated, bool in_class) {
    if (in_class) {
      out_ += body;
    } else {
      out_ += FormatText("[{}{}]", negated ? "^" : "", body);
    }
  }

  Status Open() {
    groups_.push_back(out_.size());
    if (in_.substr(at_).starts_with("(?")) {
      // Inline options: i and x mean the same in both.
      for (size_t i = at_ + 2; i < in_.size() && (std::isalpha(in_[i]) || in_[i] == '-'); ++i) {
        if (in_[i] != 'i' && in_[i] != 'x' && in_[i] != '-') return Refuse("an inline option");
      }
    }
    Copy(in_.substr(at_).starts_with("(?") ? 2 : 1);
    // What follows "(?" up to the group's body is copied by the main loop; none of it repeats.
    return OkStatus();
  }

  Status Braces() {
    const size_t close = in_.find('}', at_);
    const std::string_view body =
        close == in_.npos ? std::string_view() : in_.substr(at_ + 1, close - at_ - 1);
    const bool is_repeat =
        !body.empty() && body != "," && body.find_first_not_of("0123456789,") == body.npos;
    if (!is_repeat) {  // a literal brace in both
      atom_ = out_.size();
      out_ += "\\{";
      ++at_;
      return OkStatus();
    }
    out_ += '{';
    if (body[0] == ',') out_ += '0';
    out_ += body;
    out_ += '}';
    at_ = close + 1;
    if (at_ < in_.size() && in_[at_] == '+') {
      out_.insert(atom_, "(?:");
      out_ += ")";
    }
    return OkStatus();
  }

  Status Class() {
    Copy(1);
    if (at_ < in_.size() && in_[at_] == '^') Copy(1);
    if (at_ < in_.size() && in_[at_] == ']') {
      out_ += '\\';
      Copy(1);
    }
    while (at_ < in_.size() && in_[at_] != ']') {
      if (in_[at_] == '\\') {
        KRAFLA_RETURN_IF_ERROR(Escape(/*in_class=*/true));
      } else if (in_.substr(at_).starts_with("[:")) {
        const size_t close = in_.find(":]", at_);
        if (close == in_.npos) return Refuse("an open [:");
        Copy(close + 2 - at_);
      } else if (in_[at_] == '[') {
        return Refuse("a class within a class");
      } else if (in_.substr(at_).starts_with("&&")) {
        return Refuse("an intersection of classes");
      } else {
        Copy(1);
      }
    }
    if (at_ == in_.size()) return Refuse("an open class");
    Copy(1);
    return OkStatus();
  }

  Status Escape(bool in_class) {
    if (at_ + 1 >= in_.size()) return Refuse("a lone backslash");
    const char c = in_[at_ + 1];
    switch (c) {
      case 's':
        at_ += 2;
        Put(kSpaces, false, in_class);
        return OkStatus();
      case 'S':
        at_ += 2;
        Put(in_class ? kNotSpaces : kSpaces, true, in_class);
        return OkStatus();
      case 'h':
        at_ += 2;
        Put(kHexDigits, false, in_class);
        return OkStatus();
      case 'd':
        at_ += 2;
        Put(PropertyBody("Nd"), false, in_class);
        return OkStatus();
      case 'w':
        at_ += 2;
        Put(WordBody(), false, in_class);
        return OkStatus();
      case 'D':
      case 'W':
      case 'H':
        if (in_class) return Refuse("a negated set in a class");
        at_ += 2;
        Put(c == 'D'   ? PropertyBody("Nd")
            : c == 'W' ? WordBody()
                       : std::string(kHexDigits),
            true, false);
        return OkStatus();
      case 'p':
      case 'P':
        return Property(in_class);
      case 'u': {
        const std::string_view hex = in_.substr(at_ + 2, 4);
        if (hex.size() != 4) return Refuse("\\u");
        for (char digit : hex) {
          if (!std::isxdigit(static_cast<unsigned char>(digit))) return Refuse("\\u");
        }
        out_ += FormatText("\\x{{{}}}", hex);
        at_ += 6;
        return OkStatus();
      }
      case 'x':
        if (in_.substr(at_ + 2).starts_with("{")) {
          const size_t close = in_.find('}', at_);
          if (close == in_.npos) return Refuse("\\x{");
          Copy(close + 1 - at_);
        } else {
          Copy(2);
        }
        return OkStatus();
      case 'K':
      case 'G':
      case 'R':
      case 'X':
      case 'C':
      case 'N':
      case 'O':
      case 'Q':
      case 'E':
        return Refuse(in_.substr(at_, 2));
      default:
        Copy(2);
        return OkStatus();
    }
  }

  Status Property(bool in_class) {
    bool negated = in_[at_ + 1] == 'P';
    std::string_view name;
    if (in_.substr(at_ + 2).starts_with("{")) {
      const size_t close = in_.find('}', at_);
      if (close == in_.npos) return Refuse("an open \\p{");
      name = in_.substr(at_ + 3, close - at_ - 3);
      at_ = close + 1;
    } else {
      name = in_.substr(at_ + 2, 1);
      at_ += 2 + name.size();
    }
    if (name.starts_with("^")) {
      negated = !negated;
      name.remove_prefix(1);
    }
    if (name.empty()) return Refuse("a property without a name");
    for (char letter : name) {
      if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '_') {
        return Refuse("a property name");
      }
    }
    if (negated && in_class) return Refuse("a negated property in a class");
    Put(PropertyBody(name), negated, in_class);
    return OkStatus();
  }

  std::string_view in_;
  size_t at_ = 0;
  std::string out_;
  size_t atom_ = 0;             // where the last atom starts in out_
  std::vector<size_t> groups_;  // where the open groups start
};

}  // namespace

StatusOr<std::string> TranslatePattern(std::string_view oniguruma) {
  return Translator(oniguruma).Run();
}

}  // namespace krafla

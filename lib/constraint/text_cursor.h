// A place in a text that is read token by token: what the readers of grammars, patterns and JSON
// share.
#ifndef KRAFLA_LIB_CONSTRAINT_TEXT_CURSOR_H_
#define KRAFLA_LIB_CONSTRAINT_TEXT_CURSOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace krafla {

class TextCursor {
 protected:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool At(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool Skip(std::string_view token) {
    if (!At(token)) return false;
    at_ += token.size();
    return true;
  }
  // Digits, as a number of at most max + 1; false where there are none.
  bool Number(uint32_t max, uint32_t* out) {
    const size_t begin = at_;
    uint64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      const auto digit = static_cast<uint64_t>(text_[at_++] - '0');
      value = std::min<uint64_t>(value * 10 + digit, uint64_t{max} + 1);
    }
    *out = static_cast<uint32_t>(value);
    return at_ > begin;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_TEXT_CURSOR_H_

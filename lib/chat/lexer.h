// Cuts template source into tokens, with Jinja's white-space control (`-`, `+`, trim_blocks,
// lstrip_blocks), raw blocks and comments. Source must have LF line ends only.
#ifndef KRAFLA_LIB_CHAT_LEXER_H_
#define KRAFLA_LIB_CHAT_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla::chat {

enum class TokenType : uint8_t {
  kText,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,  // text without its quotes, escapes not yet decoded
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenType type;
  uint32_t line;
  std::string_view text;  // into the source
};

// CRLF and CR become LF; one line end at the very end is dropped, as Jinja does.
std::string NormaliseSource(std::string_view source);

StatusOr<std::vector<Token>> Tokenise(std::string_view source);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_LEXER_H_

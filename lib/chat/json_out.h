// The tojson filter: json.dumps of Python, key order kept.
#ifndef KRAFLA_LIB_CHAT_JSON_OUT_H_
#define KRAFLA_LIB_CHAT_JSON_OUT_H_

#include <optional>
#include <string>

#include "lib/base/status.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

struct JsonStyle {
  std::optional<std::string> indent;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ensure_ascii = false;
  bool sort_keys = false;
};

// The text is one run, untrusted as soon as any string in v is not wholly trusted.
StatusOr<Value> ToJson(Interpreter& in, const Value& v, const JsonStyle& style);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_JSON_OUT_H_

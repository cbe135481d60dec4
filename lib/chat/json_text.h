// JSON as text: whether it is some, and strings in and out. For the short pieces that a reply is
// looked at in; whole documents go through simdjson.
#ifndef KRAFLA_LIB_CHAT_JSON_TEXT_H_
#define KRAFLA_LIB_CHAT_JSON_TEXT_H_

#include <string>
#include <string_view>

namespace krafla::chat {

// Whether a text (valid UTF-8) is one JSON value, nested at most 128 deep, and whether it is an
// object.
bool IsJson(std::string_view text, bool* is_object = nullptr);
// The text of a JSON string; empty where it is none. A lone surrogate becomes U+FFFD.
std::string UnescapeJson(std::string_view quoted);
// Appends a JSON string.
void AppendJsonString(std::string_view text, std::string* out);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_JSON_TEXT_H_

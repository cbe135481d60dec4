// Operations on texts that filters and str methods share. Each keeps the trust of every source
// byte.
#ifndef KRAFLA_LIB_CHAT_STRING_OPERATIONS_H_
#define KRAFLA_LIB_CHAT_STRING_OPERATIONS_H_

#include <vector>

#include "lib/base/status.h"
#include "lib/chat/text.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

// limit < 0: all occurrences. An empty `from` matches between all characters.
StatusOr<Text> ReplaceText(Interpreter& in, const Text& text, const Text& from, const Text& to,
                           int64_t limit);
Text Capitalize(const Text& text);
// chars == nullptr: white space.
Text Strip(const Text& text, const Text* chars, bool left, bool right);
// Joins str() of the items.
StatusOr<Text> JoinValues(Interpreter& in, const Text& separator, const std::vector<Value>& items);
// Pads to `width` characters; align is '<', '>' or '^'.
StatusOr<Text> Pad(Interpreter& in, const Text& text, int64_t width, const Text& fill, char align);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_STRING_OPERATIONS_H_

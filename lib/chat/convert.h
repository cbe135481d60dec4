// Python's conversions: str(), repr(), bool(), iteration and number formatting.
#ifndef KRAFLA_LIB_CHAT_CONVERT_H_
#define KRAFLA_LIB_CHAT_CONVERT_H_

#include <string>
#include <vector>

#include "lib/chat/interpreter.h"

namespace krafla::chat {

bool Truthy(const Value& v);

// Appends str(v). Numbers, booleans and None are trusted text: they cannot carry a user's
// characters. A printed container is untrusted as a whole when any string in it is not wholly
// trusted.
Status AppendStr(Interpreter& in, const Value& v, Text* out);
Status AppendRepr(Interpreter& in, const Value& v, Text* out);
StatusOr<Text> ToText(Interpreter& in, const Value& v);

// Shortest digits that read back as the same double, laid out as Python's repr.
std::string FloatRepr(double d);

// list(v): the items one iteration gives. An undefined value gives none.
StatusOr<std::vector<Value>> Items(Interpreter& in, const Value& v);
// len(v).
StatusOr<size_t> Length(Interpreter& in, const Value& v);

// Typed arguments of builtins; `what` names the argument in an error.
StatusOr<int64_t> IntArgument(Interpreter& in, const Value& v, std::string_view what,
                              int64_t fallback);
// The text of a string argument, nullptr when it is missing or none.
StatusOr<const Text*> TextArgument(Interpreter& in, const Value& v, std::string_view what);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_CONVERT_H_

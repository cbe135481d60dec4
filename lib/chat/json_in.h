// Turns the input JSON of a render into untrusted values.
#ifndef KRAFLA_LIB_CHAT_JSON_IN_H_
#define KRAFLA_LIB_CHAT_JSON_IN_H_

#include <string_view>

#include "lib/base/status.h"

namespace krafla::chat {

class Interpreter;

// Each member of the object becomes a variable of `in`. ArgumentError when the text is no JSON
// object.
Status SetInput(Interpreter& in, std::string_view json);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_JSON_IN_H_

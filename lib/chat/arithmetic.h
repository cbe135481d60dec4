// + - * / // % ** on numbers, texts and lists, with Python's results.
#ifndef KRAFLA_LIB_CHAT_ARITHMETIC_H_
#define KRAFLA_LIB_CHAT_ARITHMETIC_H_

#include "lib/base/status.h"
#include "lib/chat/ast.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

StatusOr<Value> Arithmetic(Interpreter& in, Op op, const Value& a, const Value& b);
StatusOr<Value> Negate(Interpreter& in, const Value& v);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_ARITHMETIC_H_

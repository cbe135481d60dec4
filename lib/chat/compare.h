// Python's equality, order and membership.
#ifndef KRAFLA_LIB_CHAT_COMPARE_H_
#define KRAFLA_LIB_CHAT_COMPARE_H_

#include <vector>

#include "lib/base/status.h"
#include "lib/chat/ast.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

// Equality of values that may be keys of a map: everything but containers.
bool KeysEqual(const Value& a, const Value& b);

StatusOr<bool> Equal(Interpreter& in, const Value& a, const Value& b);
// a < b; an error when Python has no order for the two.
StatusOr<bool> Less(Interpreter& in, const Value& a, const Value& b);
StatusOr<bool> Contains(Interpreter& in, const Value& container, const Value& item);
StatusOr<bool> CompareValues(Interpreter& in, Comparison comparison, const Value& a,
                             const Value& b);

// A stable order of `keys`: the permutation that sorts them.
StatusOr<std::vector<size_t>> SortOrder(Interpreter& in, const std::vector<Value>& keys,
                                        bool reverse);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_COMPARE_H_

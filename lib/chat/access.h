// Attributes, items and slices, as Jinja's sandbox looks them up.
#ifndef KRAFLA_LIB_CHAT_ACCESS_H_
#define KRAFLA_LIB_CHAT_ACCESS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

// object.name: attributes and methods first, then items.
StatusOr<Value> GetAttribute(Interpreter& in, const Value& object, std::string_view name);
// object[index]: items first, then attributes; what is not there is undefined.
StatusOr<Value> GetItem(Interpreter& in, const Value& object, const Value& index);
// object[start:stop:step]; kMissing or none where left out.
StatusOr<Value> GetSlice(Interpreter& in, const Value& object, const Value& start,
                         const Value& stop, const Value& step);
// A path such as "function.name" or "0.id" of a filter's `attribute`.
StatusOr<Value> GetPath(Interpreter& in, const Value& object, const Value& path);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_ACCESS_H_

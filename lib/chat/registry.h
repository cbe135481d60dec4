// What templates can call, by name: filters, tests, methods of str, dict and list, and global
// functions. One row each; arguments are bound to the row's parameter names before the call.
#ifndef KRAFLA_LIB_CHAT_REGISTRY_H_
#define KRAFLA_LIB_CHAT_REGISTRY_H_

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter;

struct CallArgs {
  std::vector<Value> positional;
  std::vector<std::pair<std::string_view, Value>> named;
  size_t n_own_named = SIZE_MAX;  // names from here on are not the template's: not trusted
};

// self: the filter's subject, the method's object, the tested value; missing for a global function.
using BuiltinFunction = StatusOr<Value> (*)(Interpreter& in, const Value& self, CallArgs& args);

struct Builtin {
  std::string_view name;
  // Parameter names apart by blanks; a leading '!' marks a required one. After binding,
  // args.positional holds one value each, kMissing where none was given. "*" binds nothing.
  std::string_view parameters;
  BuiltinFunction function;
};

const Builtin* FindFilter(std::string_view name);
uint32_t FilterIndex(const Builtin* filter);
const Builtin* FilterAt(uint32_t index);
const Builtin* FindTest(std::string_view name);
uint32_t TestIndex(const Builtin* test);
const Builtin* TestAt(uint32_t index);
const Builtin* FindGlobal(std::string_view name);
// A method of a str, dict or list; nullptr when the type has none of that name.
const Builtin* FindMethod(const Value& self, std::string_view name);
// Methods that Python has and the immutable sandbox refuses: list.append, dict.update, ...
bool IsRefusedMethod(const Value& self, std::string_view name);

// kind: "filter", "method", ... for the message of an error.
Status BindArguments(Interpreter& in, std::string_view kind, const Builtin& builtin,
                     CallArgs* args);
StatusOr<Value> Invoke(Interpreter& in, std::string_view kind, const Builtin& builtin,
                       const Value& self, CallArgs* args);

// The tables, each in the file of its functions.
std::span<const Builtin> StringFilters();
std::span<const Builtin> TextLayoutFilters();
std::span<const Builtin> SequenceFilters();
std::span<const Builtin> SelectFilters();
std::span<const Builtin> NumberFilters();
std::span<const Builtin> Tests();
std::span<const Builtin> StringMethods();
std::span<const Builtin> StringPredicates();
std::span<const Builtin> MapMethods();
std::span<const Builtin> ListMethods();
std::span<const Builtin> Globals();

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_REGISTRY_H_

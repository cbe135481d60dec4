// Look-up in the tables and binding of arguments to parameters.
#include "lib/chat/registry.h"

#include <algorithm>

#include "lib/chat/interpreter.h"

namespace krafla::chat {
namespace {

using Tables = std::span<const Builtin> (*)();

const Builtin* FindIn(std::span<const Tables> tables, std::string_view name) {
  for (Tables table : tables) {
    for (const Builtin& b : table()) {
      if (b.name == name) return &b;
    }
  }
  return nullptr;
}

uint32_t IndexIn(std::span<const Tables> tables, const Builtin* wanted) {
  uint32_t index = 0;
  for (Tables table : tables) {
    for (const Builtin& b : table()) {
      if (&b == wanted) return index;
      ++index;
    }
  }
  return index;
}

const Builtin* AtIndex(std::span<const Tables> tables, uint32_t index) {
  for (Tables table : tables) {
    std::span<const Builtin> rows = table();
    if (index < rows.size()) return &rows[index];
    index -= static_cast<uint32_t>(rows.size());
  }
  return nullptr;
}

constexpr Tables kFilters[] = {StringFilters, TextLayoutFilters, SequenceFilters, SelectFilters,
                               NumberFilters};
constexpr Tables kTests[] = {Tests};
constexpr Tables kGlobals[] = {Globals};
constexpr Tables kStringMethods[] = {StringMethods, StringPredicates};
constexpr Tables kMapMethods[] = {MapMethods};
constexpr Tables kListMethods[] = {ListMethods};

}  // namespace

const Builtin* FindFilter(std::string_view name) { return FindIn(kFilters, name); }
uint32_t FilterIndex(const Builtin* filter) { return IndexIn(kFilters, filter); }
const Builtin* FilterAt(uint32_t index) { return AtIndex(kFilters, index); }
const Builtin* FindTest(std::string_view name) { return FindIn(kTests, name); }
uint32_t TestIndex(const Builtin* test) { return IndexIn(kTests, test); }
const Builtin* TestAt(uint32_t index) { return AtIndex(kTests, index); }
const Builtin* FindGlobal(std::string_view name) { return FindIn(kGlobals, name); }

const Builtin* FindMethod(const Value& self, std::string_view name) {
  if (self.Is(Kind::kString)) return FindIn(kStringMethods, name);
  if (self.Is(Kind::kMap)) return FindIn(kMapMethods, name);
  if (self.Is(Kind::kList)) {
    ListStyle style = self.As<ListObject>().style;
    bool indexed =
        style == ListStyle::kList || style == ListStyle::kTuple || style == ListStyle::kGroup;
    if (indexed) return FindIn(kListMethods, name);
  }
  return nullptr;
}

bool IsRefusedMethod(const Value& self, std::string_view name) {
  static constexpr std::string_view kOfList[] = {"append", "clear",  "extend",  "insert",
                                                 "pop",    "remove", "reverse", "sort"};
  static constexpr std::string_view kOfMap[] = {"clear", "pop", "popitem", "setdefault", "update"};
  auto has = [name](std::span<const std::string_view> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (self.Is(Kind::kList)) return self.As<ListObject>().style == ListStyle::kList && has(kOfList);
  return self.Is(Kind::kMap) && has(kOfMap);
}

Status BindArguments(Interpreter& in, std::string_view kind, const Builtin& builtin,
                     CallArgs* args) {
  if (builtin.parameters == "*") return OkStatus();
  std::vector<Value> slots;
  std::string_view rest = builtin.parameters;
  size_t used_names = 0;
  while (!rest.empty()) {
    size_t end = std::min(rest.find(' '), rest.size());
    std::string_view name = rest.substr(0, end);
    rest = rest.substr(std::min(end + 1, rest.size()));
    bool required = name[0] == '!';
    if (required) name.remove_prefix(1);
    Value value;
    if (slots.size() < args->positional.size()) value = args->positional[slots.size()];
    for (auto& [given_name, given] : args->named) {
      if (given_name != name) continue;
      if (value.given()) {
        return in.Error("{} '{}': argument '{}' given twice", kind, builtin.name, name);
      }
      value = given;
      ++used_names;
    }
    if (required && !value.given()) {
      return in.Error("{} '{}': argument '{}' is missing", kind, builtin.name, name);
    }
    slots.push_back(value);
  }
  if (args->positional.size() > slots.size()) {
    return in.Error("{} '{}': got {} arguments, want at most {}", kind, builtin.name,
                    args->positional.size(), slots.size());
  }
  if (used_names < args->named.size()) {
    return in.Error("{} '{}': unknown argument among those named", kind, builtin.name);
  }
  args->positional = std::move(slots);
  args->named.clear();
  return OkStatus();
}

StatusOr<Value> Invoke(Interpreter& in, std::string_view kind, const Builtin& builtin,
                       const Value& self, CallArgs* args) {
  KRAFLA_RETURN_IF_ERROR(in.Step());
  KRAFLA_RETURN_IF_ERROR(BindArguments(in, kind, builtin, args));
  return builtin.function(in, self, *args);
}

}  // namespace krafla::chat

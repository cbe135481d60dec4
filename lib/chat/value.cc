// Look-up in maps, namespaces and scopes.
#include "lib/chat/value.h"

#include "lib/chat/compare.h"

namespace krafla::chat {

const Text& Value::text() const { return As<StringObject>().text; }
std::vector<Value>& Value::items() const { return As<ListObject>().items; }

void MapObject::Set(const Value& key, const Value& value) {
  if (const Value* old = Find(key)) {
    *const_cast<Value*>(old) = value;
    return;
  }
  if (key.Is(Kind::kString)) index_.emplace(key.text().view(), entries.size());
  entries.emplace_back(key, value);
}

const Value* MapObject::Find(std::string_view key) const {
  auto it = index_.find(key);
  return it == index_.end() ? nullptr : &entries[it->second].second;
}

const Value* MapObject::Find(const Value& key) const {
  if (key.Is(Kind::kString)) return Find(key.text().view());
  if (index_.size() == entries.size()) return nullptr;
  for (const auto& [k, v] : entries) {
    if (!k.Is(Kind::kString) && KeysEqual(k, key)) return &v;
  }
  return nullptr;
}

Value* NamespaceObject::Find(std::string_view name) {
  for (auto& [n, v] : attributes) {
    if (n == name) return &v;
  }
  return nullptr;
}

Value* Scope::Find(uint32_t symbol) {
  for (auto& [s, v] : variables) {
    if (s == symbol) return &v;
  }
  return nullptr;
}

void Scope::Set(uint32_t symbol, const Value& value) {
  if (Value* old = Find(symbol)) {
    *old = value;
  } else {
    variables.emplace_back(symbol, value);
  }
}

std::string_view TypeName(const Value& v) {
  switch (v.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      switch (v.As<ListObject>().style) {
        case ListStyle::kList:
          return "list";
        case ListStyle::kTuple:
        case ListStyle::kGroup:
          return "tuple";
        case ListStyle::kKeys:
          return "dict_keys";
        case ListStyle::kValues:
          return "dict_values";
        case ListStyle::kItems:
          return "dict_items";
      }
      return "list";
    case Kind::kMap:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kGenerator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kMacro:
      return "Macro";
    case Kind::kMethod:
      return "method";
    case Kind::kFunction:
      return "function";
    case Kind::kCycler:
      return "Cycler";
    case Kind::kJoiner:
      return "Joiner";
  }
  return "object";
}

}  // namespace krafla::chat

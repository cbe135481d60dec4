// Values of the template interpreter, with Python's kinds. A Value is 16 bytes and trivially
// copied; what it points to lives in the Heap of one render (or, for literals, in the parsed
// program) and is freed all at once, so neither cycles through namespaces nor deep nesting need
// care on destruction.
#ifndef KRAFLA_LIB_CHAT_VALUE_H_
#define KRAFLA_LIB_CHAT_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/chat/text.h"

namespace krafla::chat {

struct Builtin;

enum class Kind : uint8_t {
  kMissing,  // an argument that was not given; never seen by a template
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kMap,
  kRange,
  kGenerator,
  kNamespace,
  kLoop,
  kMacro,
  kMethod,
  kFunction,
  kCycler,
  kJoiner,
};

struct Object {
  virtual ~Object() = default;
};

struct StringObject;
struct ListObject;
struct MapObject;
struct RangeObject;
struct GeneratorObject;
struct NamespaceObject;
struct LoopObject;
struct MacroObject;
struct MethodObject;
struct CyclerObject;
struct UndefinedObject;

struct Value {
  Kind kind = Kind::kMissing;
  union {
    int64_t i;
    double d;
    Object* object;
    const Builtin* builtin;
  };

  Value() : i(0) {}
  static Value Of(Kind kind, Object* object) {
    Value v;
    v.kind = kind;
    v.object = object;
    return v;
  }
  static Value None() { return Of(Kind::kNone, nullptr); }
  static Value Bool(bool b) {
    Value v;
    v.kind = Kind::kBool;
    v.i = b ? 1 : 0;
    return v;
  }
  static Value Int(int64_t i) {
    Value v;
    v.kind = Kind::kInt;
    v.i = i;
    return v;
  }
  static Value Float(double d) {
    Value v;
    v.kind = Kind::kFloat;
    v.d = d;
    return v;
  }

  bool Is(Kind k) const { return kind == k; }
  bool given() const { return kind != Kind::kMissing; }
  bool IsInteger() const { return kind == Kind::kInt || kind == Kind::kBool; }
  bool IsNumber() const { return IsInteger() || kind == Kind::kFloat; }
  double AsDouble() const { return kind == Kind::kFloat ? d : static_cast<double>(i); }

  template <typename T>
  T& As() const {
    return *static_cast<T*>(object);
  }
  const Text& text() const;           // kString
  std::vector<Value>& items() const;  // kList
};

struct StringObject : Object {
  explicit StringObject(Text t) : text(std::move(t)) {}
  Text text;
};

// What Python calls the sequence; it decides how it prints and what may be done with it.
enum class ListStyle : uint8_t { kList, kTuple, kKeys, kValues, kItems, kGroup };

struct ListObject : Object {
  ListStyle style = ListStyle::kList;
  std::vector<Value> items;
};

struct MapObject : Object {
  std::vector<std::pair<Value, Value>> entries;  // in order of insertion
  // Replaces the value of an equal key, as a Python dict does.
  void Set(const Value& key, const Value& value);
  const Value* Find(const Value& key) const;
  const Value* Find(std::string_view key) const;

 private:
  std::map<std::string_view, size_t> index_;  // of string keys
};

struct RangeObject : Object {
  int64_t start = 0, stop = 0, step = 1, count = 0;
};

// A Python generator: items already computed, handed out once.
struct GeneratorObject : Object {
  std::vector<Value> items;
  size_t next = 0;
};

struct NamespaceObject : Object {
  std::vector<std::pair<std::string, Value>> attributes;
  Value* Find(std::string_view name);
};

struct LoopObject : Object {
  std::vector<Value> items;
  size_t index = 0;
  size_t depth = 0;
  std::vector<Value> last_changed;
  bool has_changed = false;
};

struct Scope;

struct MacroObject : Object {
  uint32_t node = 0;
  Scope* closure = nullptr;
};

struct MethodObject : Object {
  Value self;
  const Builtin* builtin = nullptr;
};

struct CyclerObject : Object {  // also a joiner: items[0] is its separator
  std::vector<Value> items;
  size_t next = 0;
};

struct UndefinedObject : Object {
  std::string message;  // why it is undefined: the error of any use
};

// Owns every object of one render and counts their bytes.
class Heap {
 public:
  template <typename T, typename... Args>
  T* New(size_t extra_bytes, Args&&... args) {
    auto owned = std::make_unique<T>(std::forward<Args>(args)...);
    T* object = owned.get();
    objects_.push_back(std::move(owned));
    Charge(sizeof(T) + sizeof(void*) * 2 + extra_bytes);
    return object;
  }
  void Charge(size_t bytes) { bytes_ += bytes; }
  size_t bytes() const { return bytes_; }

 private:
  std::vector<std::unique_ptr<Object>> objects_;
  size_t bytes_ = 0;
};

// One level of variables. A frame that a macro captured lives on with the heap.
struct Scope : Object {
  Scope* parent = nullptr;
  bool captured = false;
  std::vector<std::pair<uint32_t, Value>> variables;  // symbol, value
  Value* Find(uint32_t symbol);
  void Set(uint32_t symbol, const Value& value);
};

// Python's name of the value's type: "str", "dict", ...
std::string_view TypeName(const Value& v);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_VALUE_H_

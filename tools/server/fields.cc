// See fields.h.
#include "tools/server/fields.h"

#include <cmath>

#include "tools/server/errors.h"

namespace krafla::server {
namespace {

constexpr double kExact = 9007199254740992.0;  // 2^53

[[noreturn]] void Refuse(const Json& value, const std::string& name, const std::string& want) {
  throw BadField(name, "got {}, want {}", Show(value), want);
}

}  // namespace

std::string Show(const Json& value) {
  if (value.is_array()) return "an array";
  if (value.is_object()) return "an object";
  std::string text = Dump(value);
  if (text.size() > 60) text = text.substr(0, 40) + "...";
  return text;
}

int64_t ToInteger(const Json& value, const std::string& name, int64_t min, int64_t max) {
  const std::string want = fmt::format("a whole number from {} to {}", min, max);
  int64_t number = 0;
  if (value.is_number_unsigned()) {
    const auto got = value.get<uint64_t>();
    if (got > static_cast<uint64_t>(INT64_MAX)) Refuse(value, name, want);
    number = static_cast<int64_t>(got);
  } else if (value.is_number_integer()) {
    number = value.get<int64_t>();
  } else if (value.is_number_float()) {
    const auto got = value.get<double>();
    if (!(std::abs(got) <= kExact) || got != std::floor(got)) Refuse(value, name, want);
    number = static_cast<int64_t>(got);
  } else {
    Refuse(value, name, want);
  }
  if (number < min || number > max) Refuse(value, name, want);
  return number;
}

double ToNumber(const Json& value, const std::string& name, double min, double max) {
  const std::string want = fmt::format("a number from {} to {}", min, max);
  if (!value.is_number()) Refuse(value, name, want);
  const auto number = value.get<double>();
  if (!(number >= min && number <= max)) Refuse(value, name, want);
  return number;
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object.is_object()) {
    if (path_.empty()) throw BadField({}, "body: got {}, want an object", Show(object));
    Refuse(object, path_, "an object");
  }
}

const Json* Fields::Find(const char* name) const {
  const auto at = object_.find(name);
  return at == object_.end() || at->is_null() ? nullptr : &*at;
}

std::optional<int64_t> Fields::Integer(const char* name, int64_t min, int64_t max) const {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  return ToInteger(*value, Name(name), min, max);
}

std::optional<double> Fields::Number(const char* name, double min, double max) const {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  return ToNumber(*value, Name(name), min, max);
}

std::optional<bool> Fields::Bool(const char* name) const {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) Refuse(*value, Name(name), "true or false");
  return value->get<bool>();
}

std::optional<std::string> Fields::String(const char* name) const {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) Refuse(*value, Name(name), "a string");
  return value->get<std::string>();
}

std::vector<std::string> Fields::Strings(const char* name, size_t most) const {
  const Json* value = Find(name);
  if (value == nullptr) return {};
  if (value->is_string()) return {value->get<std::string>()};
  if (!value->is_array()) Refuse(*value, Name(name), "a string or an array of strings");
  if (value->size() > most) {
    throw BadField(Name(name), "got {} strings, want at most {}", value->size(), most);
  }
  std::vector<std::string> strings;
  for (const Json& item : *value) {
    if (!item.is_string()) Refuse(item, Name(name), "strings in the array");
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

const Json* Fields::Object(const char* name) const {
  const Json* value = Find(name);
  if (value != nullptr && !value->is_object()) Refuse(*value, Name(name), "an object");
  return value;
}

const Json* Fields::Array(const char* name) const {
  const Json* value = Find(name);
  if (value != nullptr && !value->is_array()) Refuse(*value, Name(name), "an array");
  return value;
}

void Fields::RefuseUnless(const char* name, const Json& harmless, const std::string& why) const {
  const Json* value = Find(name);
  if (value != nullptr && *value != harmless) throw Unsupported(Name(name), why);
}

}  // namespace krafla::server

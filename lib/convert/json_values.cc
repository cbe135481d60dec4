// simdjson's DOM: iterative parsing with a depth limit, UTF-8 checked, and memory in proportion to
// the text.
#include "lib/convert/json_values.h"

#include <simdjson.h>

#include <cmath>
#include <utility>

#include "lib/convert/json_numbers.h"

namespace krafla {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kMaxDepth = 64;

std::optional<element> Member(element at, std::string_view key) {
  while (true) {
    const size_t dot = key.find('.');
    object in;
    element next;
    if (at.get(in) != simdjson::SUCCESS) return std::nullopt;
    if (in.at_key(key.substr(0, dot)).get(next) != simdjson::SUCCESS) return std::nullopt;
    if (dot == std::string_view::npos) return next;
    key.remove_prefix(dot + 1);
    at = next;
  }
}

template <typename T>
std::optional<T> As(const std::optional<element>& from) {
  T value;
  if (!from || from->get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

}  // namespace

struct JsonValues::Document {
  simdjson::dom::parser parser;
  element root;
};

JsonValues::JsonValues(std::unique_ptr<Document> document) : document_(std::move(document)) {}
JsonValues::JsonValues(JsonValues&&) noexcept = default;
JsonValues& JsonValues::operator=(JsonValues&&) noexcept = default;
JsonValues::~JsonValues() = default;

StatusOr<JsonValues> JsonValues::Parse(std::string_view text, std::string_view file) {
  auto document = std::make_unique<Document>();
  if (document->parser.allocate(text.size() + 1, kMaxDepth) != simdjson::SUCCESS) {
    return MemoryError("{}: no memory to parse {} bytes of JSON", file, text.size());
  }
  KRAFLA_ASSIGN_OR_RETURN(document->root, ParseJson(file, text, &document->parser));
  if (!document->root.is_object()) return FileError("{}: not a JSON object", file);
  return JsonValues(std::move(document));
}

std::optional<int64_t> JsonValues::Integer(std::string_view key) const {
  const std::optional<element> at = Member(document_->root, key);
  if (const auto value = As<int64_t>(at)) return value;
  const auto number = As<double>(at);
  if (!number || !(std::fabs(*number) < 0x1p53) || *number != std::trunc(*number)) {
    return std::nullopt;
  }
  return static_cast<int64_t>(*number);
}

std::optional<double> JsonValues::Number(std::string_view key) const {
  return As<double>(Member(document_->root, key));
}

std::optional<bool> JsonValues::Bool(std::string_view key) const {
  return As<bool>(Member(document_->root, key));
}

std::optional<std::string> JsonValues::String(std::string_view key) const {
  const auto value = As<std::string_view>(Member(document_->root, key));
  if (!value) return std::nullopt;
  return std::string(*value);
}

std::optional<std::vector<double>> JsonValues::Numbers(std::string_view key) const {
  const auto list = As<array>(Member(document_->root, key));
  if (!list) return std::nullopt;
  std::vector<double> values;
  for (const element item : *list) {
    const auto value = As<double>(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

bool JsonValues::Has(std::string_view key) const {
  return Member(document_->root, key).has_value();
}

bool JsonValues::HasValue(std::string_view key) const {
  const auto value = Member(document_->root, key);
  return value && !value->is_null();
}

bool JsonValues::IsObject(std::string_view key) const {
  return As<object>(Member(document_->root, key)).has_value();
}

bool JsonValues::IsArray(std::string_view key) const {
  return As<array>(Member(document_->root, key)).has_value();
}

std::optional<std::vector<std::string>> JsonValues::StringList(std::string_view key) const {
  const auto list = As<array>(Member(document_->root, key));
  if (!list) return std::nullopt;
  std::vector<std::string> values;
  for (const element item : *list) {
    const auto value = As<std::string_view>(item);
    if (!value) return std::nullopt;
    values.emplace_back(*value);
  }
  return values;
}

std::optional<std::string> JsonValues::StringInList(std::string_view key, std::string_view by,
                                                    std::string_view value,
                                                    std::string_view want) const {
  const auto list = As<array>(Member(document_->root, key));
  if (!list) return std::nullopt;
  for (const element item : *list) {
    if (As<std::string_view>(Member(item, by)) != value) continue;
    const auto found = As<std::string_view>(Member(item, want));
    if (found) return std::string(*found);
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, std::string>> JsonValues::StringMembers(
    std::string_view key) const {
  std::vector<std::pair<std::string, std::string>> members;
  const auto in = As<object>(Member(document_->root, key));
  if (!in) return members;
  for (const auto field : *in) {
    const auto value = As<std::string_view>(field.value);
    if (value) members.emplace_back(std::string(field.key), std::string(*value));
  }
  return members;
}

}  // namespace krafla

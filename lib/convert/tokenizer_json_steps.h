// The steps of a tokenizer.json: its normaliser, pre-tokenizer and decoder, one JSON object to one
// Step of the table. What is not known is refused by name, never left out: a tokenizer with a step
// missing would give other ids without a sign. Also here: how members of the JSON are read and how
// its faults are told, for tokenizer_json.cc too.
#ifndef KRAFLA_LIB_CONVERT_TOKENIZER_JSON_STEPS_H_
#define KRAFLA_LIB_CONVERT_TOKENIZER_JSON_STEPS_H_

#include <simdjson.h>

#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"

namespace krafla::tokenizer_json {

using simdjson::dom::element;

inline bool IsNull(const element& parent, std::string_view key) {
  element value;
  return parent[key].get(value) != simdjson::SUCCESS || value.is_null();
}

// The member, or the fallback where it is missing, null or of another type.
template <typename T>
T Get(const element& parent, std::string_view key, T fallback) {
  T value = fallback;
  if (parent[key].get(value) != simdjson::SUCCESS) return fallback;
  return value;
}

inline std::string_view TypeOf(const element& e) { return Get<std::string_view>(e, "type", ""); }

inline Status Bad(std::string_view what) { return FileError("tokenizer.json: {}", what); }
inline Status Refuse(std::string_view what) {
  return UnsupportedError("tokenizer.json: {} is not supported", what);
}
inline Status RefuseType(std::string_view where, const element& e) {
  return UnsupportedError("tokenizer.json: {} {} is not supported", where, TypeOf(e));
}

// Each appends the step that e describes; e is no Sequence.
Status ReadNormalizer(const element& e, TokenizerSpec* spec);
Status ReadPreTokenizer(const element& e, std::vector<Step>* out);
Status ReadDecoder(const element& e, std::vector<Step>* out);

}  // namespace krafla::tokenizer_json

#endif  // KRAFLA_LIB_CONVERT_TOKENIZER_JSON_STEPS_H_

// Whole numbers of any size in JSON: tokenizer_config.json often has a model_max_length of
// 1000000000000000019884624838656, which Python wrote and a reader of 64-bit integers refuses.
#ifndef KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_
#define KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_

#include <simdjson.h>

#include <string_view>

#include "lib/base/status.h"

namespace krafla {

// The root of a document that lives with the parser; whole numbers that 64 bits do not hold are
// doubles. FileError and MemoryError name the file.
StatusOr<simdjson::dom::element> ParseJson(std::string_view file, std::string_view text,
                                           simdjson::dom::parser* parser);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_

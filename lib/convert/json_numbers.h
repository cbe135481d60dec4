// Whole numbers of any size in JSON: tokenizer_config.json often has a model_max_length of
// 1000000000000000019884624838656, which Python wrote and a reader of 64-bit integers refuses.
#ifndef KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_
#define KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_

#include <string>
#include <string_view>

namespace krafla {

// The text with each whole number of more than 18 digits spelt as a floating-point one ("e0" behind
// it). What is no JSON stays that.
std::string WithFloatsForBigIntegers(std::string_view json);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_JSON_NUMBERS_H_

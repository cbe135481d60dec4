// A TokenizerSpec from Hugging Face's files. What the reader does not know (a model other than BPE
// and Unigram, a normaliser, a flag) is refused by name, never left out.
#ifndef KRAFLA_LIB_CONVERT_TOKENIZER_JSON_H_
#define KRAFLA_LIB_CONVERT_TOKENIZER_JSON_H_

#include <string_view>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"

namespace krafla {

// tokenizer_json: the text of tokenizer.json. config_json: that of tokenizer_config.json, or empty;
// it names the BOS, EOS and padding tokens, may add tokens of its own, and its add_bos_token and
// add_eos_token add those that the post-processor does not. FileError: not valid. UnsupportedError:
// valid, but not built here.
StatusOr<TokenizerSpec> TokenizerSpecFromJson(std::string_view tokenizer_json,
                                              std::string_view config_json);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_TOKENIZER_JSON_H_

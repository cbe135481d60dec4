// A TokenizerSpec from a GGUF's metadata (keys tokenizer.ggml.*). The file says only the name of
// its pre-tokenizer; what the name stands for is in a table here, and an unknown name is refused.
#ifndef KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_H_
#define KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"

namespace krafla {

struct GgufTokenizerData {
  std::string model;                 // tokenizer.ggml.model: "gpt2", "llama"
  std::string pre;                   // tokenizer.ggml.pre: "smollm"; empty where the key is missing
  std::vector<std::string> tokens;   // by id
  std::vector<int32_t> token_types;  // empty, or one for each token
  std::vector<float> scores;         // empty, or one for each token
  std::vector<std::string> merges;   // "left right", by rank
  std::optional<int64_t> bos_id, eos_id, unk_id, pad_id;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

// FileError: not valid. UnsupportedError: a model or pre-tokenizer that is not built here.
StatusOr<TokenizerSpec> TokenizerSpecFromGguf(GgufTokenizerData data);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_H_

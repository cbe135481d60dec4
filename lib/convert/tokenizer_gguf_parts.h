// The parts of a GGUF's tokenizer, one file each: what a name in tokenizer.ggml.pre stands for, and
// how the merges are found, which a byte-level vocabulary lists and a SentencePiece one implies.
#ifndef KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_PARTS_H_
#define KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_PARTS_H_

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/tokenizer_gguf.h"
#include "lib/tokenizer/spec.h"

namespace krafla::tokenizer_gguf {

// tokenizer.ggml.token_type.
inline constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5,
                         kByte = 6;

inline constexpr std::string_view kWordMark = "\u2581";  // SentencePiece's space

// Ids by text; the keys lie in the data.
using TokenIds = std::unordered_map<std::string_view, uint32_t>;

// What a name in tokenizer.ggml.pre stands for.
struct PreTokenizer {
  std::vector<Step> normalizer, steps;
  bool ignore_merges = false;
  bool adds_bos = false;  // unless the file says otherwise
};

// UnsupportedError: nobody told us this name.
StatusOr<PreTokenizer> FindPreTokenizer(std::string_view name, bool add_space_prefix);

// tokenizer.ggml.model gpt2: the merges that the file lists.
Status AddListedMerges(const GgufTokenizerData& data, const TokenIds& ids, TokenizerSpec* spec);

// tokenizer.ggml.model llama: every pair of tokens that together spell a token, in the order of the
// scores; the normaliser and decoder of SentencePiece.
Status AddSentencePiece(const GgufTokenizerData& data, const TokenIds& ids, TokenizerSpec* spec);

}  // namespace krafla::tokenizer_gguf

#endif  // KRAFLA_LIB_CONVERT_TOKENIZER_GGUF_PARTS_H_

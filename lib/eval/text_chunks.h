// A text as the chunks of tokens that measurements read: tokenised once without special tokens, cut
// into pieces of the context, the incomplete last one dropped, BOS before each where the tokenizer
// adds it.
#ifndef KRAFLA_LIB_EVAL_TEXT_CHUNKS_H_
#define KRAFLA_LIB_EVAL_TEXT_CHUNKS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

// Each `context` tokens, BOS included. ArgumentError: fewer chunks than min_chunks; a context
// below 4.
StatusOr<std::vector<std::vector<int32_t>>> TextChunks(const Tokenizer& tokenizer,
                                                       std::string_view text, int64_t context,
                                                       size_t min_chunks = 1);

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_TEXT_CHUNKS_H_

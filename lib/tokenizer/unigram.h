// The Unigram model: every token has a score, and a word is cut so that the sum of its tokens'
// scores is largest. One pass from left to right (Viterbi); the work at one position is bounded by
// kMaxUnigramBytes.
#ifndef KRAFLA_LIB_TOKENIZER_UNIGRAM_H_
#define KRAFLA_LIB_TOKENIZER_UNIGRAM_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "lib/tokenizer/table.h"

namespace krafla {

// Scratch memory, used again from word to word.
struct UnigramScratch {
  // The best way to reach each position: what it is worth, and where its last token starts.
  struct Node {
    double score;
    uint32_t begin;
    int32_t id;  // kNowhere: not reached, kUnknown: a character of no token
  };
  std::vector<Node> nodes;
  std::vector<uint32_t> cuts;
};

class Unigram {
 public:
  // The table outlives the object; it has scores.
  explicit Unigram(const TokenizerTable* table);
  // Appends the ids of one word, which is valid UTF-8.
  void Encode(std::string_view word, UnigramScratch* scratch, std::vector<int32_t>* ids) const;

 private:
  void FindBest(std::string_view word, UnigramScratch* scratch) const;
  void AppendUnknown(std::string_view text, std::vector<int32_t>* ids) const;

  const TokenizerTable* table_;
  double unk_score_ = 0;
  std::vector<uint16_t> longest_;  // bytes of the longest token that starts with these two bytes
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_UNIGRAM_H_

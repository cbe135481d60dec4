// Byte-pair encoding of one word: the pair of lowest rank is merged first, the leftmost of equals.
// Short words are scanned, long ones go through a heap over a linked list: n log n whatever the
// word.
#ifndef KRAFLA_LIB_TOKENIZER_BPE_H_
#define KRAFLA_LIB_TOKENIZER_BPE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenizer/table.h"

namespace krafla {

struct BpeScratch {
  std::vector<uint32_t> symbols;
  std::vector<uint32_t> prev, next;
  std::vector<uint64_t> heap;
  std::string letters;
};

class Bpe {
 public:
  explicit Bpe(const TokenizerTable* table) : table_(table) {}

  // Appends the word's ids. is_bytes: the word is raw bytes, which the vocabulary spells in the
  // byte alphabet; otherwise it is text as the vocabulary spells it (valid UTF-8).
  void Encode(std::string_view word, bool is_bytes, BpeScratch* scratch,
              std::vector<int32_t>* ids) const;

 private:
  bool IsModelToken(int32_t id) const;
  void ReadSymbols(std::string_view word, bool is_bytes, BpeScratch* scratch) const;
  size_t MergeShort(uint32_t* symbols, size_t n) const;
  void MergeLong(BpeScratch* scratch, std::vector<int32_t>* ids) const;

  const TokenizerTable* table_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_BPE_H_

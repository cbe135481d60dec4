// A tokenizer's tokens as text, sorted into byte tries, so that a mask is one walk over bytes that
// tokens share. Plain tokens, whole characters that a JSON string holds unescaped, are most of a
// vocabulary; they lie apart, by their number of characters, because inside a string they can be
// allowed all at once. Immutable; made once a tokenizer.
#ifndef KRAFLA_LIB_CONSTRAINT_VOCABULARY_H_
#define KRAFLA_LIB_CONSTRAINT_VOCABULARY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

struct TrieNode {
  uint32_t end;    // behind the last node below this one, in preorder
  uint32_t token;  // index in TokenTrie::tokens of the first one that ends here or below
  uint8_t byte;
  uint8_t n_tokens;  // that end here: a vocabulary may have one text twice
  uint16_t depth;    // 1 for a first byte
};

// Nodes in preorder; the tokens below node i are a stretch of `tokens`.
struct TokenTrie {
  std::vector<TrieNode> nodes;
  std::vector<int32_t> tokens;  // in the order of their bytes
  uint16_t max_depth = 0;
};

class Vocabulary {
 public:
  // The longest run of characters that a bucket of plain tokens may have; the last has the rest.
  static constexpr std::array<uint32_t, 5> kPlainLengths = {2, 4, 8, 16, 0xFFFFFFFF};

  // The tokenizer must live as long as this. Special tokens are no text (special_bytes.h), and
  // tokens without bytes are left out.
  static StatusOr<std::shared_ptr<const Vocabulary>> Create(
      std::shared_ptr<const Tokenizer> tokenizer);

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  size_t size() const { return static_cast<size_t>(tokenizer_->vocab_size()); }
  size_t mask_words() const { return (size() + 31) / 32; }
  const TokenTrie& other() const { return other_; }
  const TokenTrie& plain(size_t bucket) const { return plain_[bucket]; }
  // Of the plain tokens of this bucket and the shorter ones.
  std::span<const uint32_t> plain_mask(size_t bucket) const { return plain_masks_[bucket]; }

 private:
  Vocabulary() = default;

  std::shared_ptr<const Tokenizer> tokenizer_;
  TokenTrie other_;
  std::array<TokenTrie, kPlainLengths.size()> plain_;
  std::array<std::vector<uint32_t>, kPlainLengths.size()> plain_masks_;
};

// A byte that stands for itself inside a JSON string, for every character of ASCII.
inline bool IsPlainAscii(uint8_t byte) {
  return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
}

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_VOCABULARY_H_

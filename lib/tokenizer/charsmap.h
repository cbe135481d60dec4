// SentencePiece's map of characters ("precompiled_charsmap"): a double-array trie of byte strings
// and the texts that replace them. Read where it lies; every step is bounds-checked, so that a
// broken map gives other text, never a read outside of it.
#ifndef KRAFLA_LIB_TOKENIZER_CHARSMAP_H_
#define KRAFLA_LIB_TOKENIZER_CHARSMAP_H_

#include <cstdint>
#include <string_view>

#include "lib/base/status.h"
#include "lib/tokenizer/trusted_text.h"

namespace krafla {

class Charsmap {
 public:
  // The blob, which outlives the object: u32 bytes of the trie, the trie's units of 4 bytes, the
  // texts, each ended by a zero. An empty blob maps nothing. FileError: not such a blob.
  static StatusOr<Charsmap> Open(std::string_view blob);

  // As Hugging Face applies it: a grapheme of less than six bytes is looked up whole, otherwise
  // each of its characters; the shortest key that begins there replaces all of what was looked up.
  Status Apply(const TrustedText& in, TrustedText* out) const;

 private:
  // True and the replacement, if a key is a prefix of the text.
  bool Find(std::string_view text, std::string_view* replacement) const;
  uint32_t Unit(size_t index) const;

  std::string_view trie_, texts_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_CHARSMAP_H_

// Added tokens in a text: leftmost-longest search as Hugging Face does it, with the flags of the
// tokens and with trust. One search looks among the raw tokens or among the normalised ones.
#ifndef KRAFLA_LIB_TOKENIZER_ADDED_TOKENS_H_
#define KRAFLA_LIB_TOKENIZER_ADDED_TOKENS_H_

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "lib/tokenizer/table.h"

namespace krafla {

// Which bytes of a text are trusted: all, none, or as a byte (0 or 1) for each says.
struct Trust {
  bool all = false;
  std::span<const uint8_t> bytes;

  bool Covers(size_t begin, size_t end) const {
    if (bytes.empty()) return all;
    for (size_t i = begin; i < end; ++i) {
      if (bytes[i] == 0) return false;
    }
    return true;
  }
  bool Touches(size_t begin, size_t end) const {
    if (bytes.empty()) return all;
    for (size_t i = begin; i < end; ++i) {
      if (bytes[i] != 0) return true;
    }
    return false;
  }
};

// A stretch of text, or the added token that stands there (id >= 0).
struct AddedSpan {
  uint32_t begin, end;
  int32_t id;
};

class AddedTokens {
 public:
  // The records outlive the object.
  AddedTokens(const TokenizerTable* table, std::span<const AddedRecord> records);

  bool empty() const { return records_.empty(); }
  bool has_special() const { return has_special_; }
  // Replaces *spans by the text's, in order; stretches of text are not empty.
  void Split(std::string_view text, const Trust& trust, std::vector<AddedSpan>* spans) const;

 private:
  // The longest record of at most max_bytes that stands at text[at]; nullptr if none does.
  const AddedRecord* MatchAt(std::string_view text, size_t at, size_t max_bytes) const;
  const AddedRecord* FindAllowed(std::string_view text, const Trust& trust, size_t* at) const;

  const TokenizerTable* table_;
  std::span<const AddedRecord> records_;
  std::array<uint32_t, 257> first_byte_ = {};  // records that start with byte b: [b], [b + 1]
  int only_first_byte_ = -1;                   // if they all start with one byte
  bool has_special_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_ADDED_TOKENS_H_

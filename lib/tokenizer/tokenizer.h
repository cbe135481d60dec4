// Text to token ids and back, token for token as Hugging Face's `tokenizers` does it. A Tokenizer
// reads one table (docs/tokenizer-table.md) in place: opening it checks every offset and id,
// compiles the split patterns, and copies nothing else. Const and thread-safe; each call has its
// own scratch memory.
//
// Trust: a special added token is found only in bytes that are trusted, so the text of a user never
// becomes a control token. Ordinary added tokens are found anywhere.
#ifndef KRAFLA_LIB_TOKENIZER_TOKENIZER_H_
#define KRAFLA_LIB_TOKENIZER_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla {

struct TextPiece {
  std::string_view text;
  bool trusted;
};

class Tokenizer {
 public:
  static constexpr int32_t kNoToken = -1;

  // The table's memory, aligned to 64 bytes, must outlive the object. A table that is not valid
  // gives FileError, one that needs what this build lacks UnsupportedError.
  static StatusOr<std::unique_ptr<Tokenizer>> Open(std::string_view table);
  ~Tokenizer();
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  // Replaces *ids (unchanged on failure). add_special adds what the post-processor adds (BOS, EOS);
  // parse_special reads special tokens in the text, otherwise their markers are ordinary text.
  // ArgumentError: the text is not UTF-8 (the message has the offset), is 2 GiB or more, or the
  // table's pattern gave up on it.
  Status Encode(std::string_view text, bool add_special, bool parse_special,
                std::vector<int32_t>* ids) const;

  // The same for a text in pieces: tokens reach over the joints as if it were one string, and a
  // special token is read only where all of its bytes are trusted.
  Status EncodePieces(std::span<const TextPiece> pieces, bool add_special,
                      std::vector<int32_t>* ids) const;

  // Replaces *text by the bytes the ids stand for (unchanged on failure); it may end, or break, in
  // an incomplete code point. ArgumentError: an id is not in the vocabulary.
  Status Decode(std::span<const int32_t> ids, bool skip_special, std::string* text) const;

  // The bytes a token adds to decoded text, positional rules aside (see StreamDecoder). Valid as
  // long as the table. ArgumentError: no such id.
  StatusOr<std::string_view> TokenBytes(int32_t id) const;
  // The token as its vocabulary spells it: "\u0120the" where TokenBytes gives " the".
  StatusOr<std::string_view> TokenText(int32_t id) const;
  // The id of a token by the vocabulary's spelling, or kNoToken.
  int32_t FindToken(std::string_view text) const;

  bool Has(
      int32_t id) const;  // models may have ids beyond their tokenizer's, which stand for nothing
  bool IsSpecial(int32_t id) const;  // false for an unknown id
  int32_t vocab_size() const;        // ids are in [0, vocab_size); a vocabulary may have holes
  // kNoToken where the tokenizer names none.
  int32_t bos_id() const;
  int32_t eos_id() const;
  int32_t unk_id() const;
  int32_t pad_id() const;
  bool adds_bos() const;                              // add_special puts bos_id() in front
  std::string_view table() const { return source_; }  // as given to Open

 private:
  friend class StreamDecoder;
  struct Impl;
  Tokenizer(std::string_view source, std::unique_ptr<Impl> impl);
  std::string_view source_;
  std::unique_ptr<Impl> impl_;
};

// Decodes ids one at a time; the concatenated output equals Tokenizer::Decode of all of them.
class StreamDecoder {
 public:
  StreamDecoder(const Tokenizer* tokenizer, bool skip_special)
      : tokenizer_(tokenizer), skip_special_(skip_special) {}
  // Appends the token's bytes to *text; unchanged on failure.
  Status Push(int32_t id, std::string* text);

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool first_ = true;      // no token has been decoded yet
  uint32_t stripped_ = 0;  // leading characters removed so far
  bool stripping_ = true;  // only such characters were seen so far
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_TOKENIZER_H_

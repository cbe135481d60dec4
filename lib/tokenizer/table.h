// The tokenizer table: everything a tokenizer needs in one position-independent little-endian blob
// that is used where it lies, in a mapped .mlb or .mlt. docs/tokenizer-table.md describes it byte
// by byte. WriteTokenizerTable makes it (equal specs give equal bytes); TokenizerTable is the
// checked view of it: once Open has succeeded, every offset, count and id below is within bounds.
#ifndef KRAFLA_LIB_TOKENIZER_TABLE_H_
#define KRAFLA_LIB_TOKENIZER_TABLE_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"

namespace krafla {

inline constexpr uint64_t kTokenizerTableAlignment = 64;
inline constexpr uint32_t kMaxTokens = 1u << 22;
inline constexpr uint32_t kMaxTokenBytes = 65535;     // one token's text
inline constexpr uint32_t kMaxAddedTokenBytes = 512;  // bounds the search at one position
inline constexpr uint32_t kMaxSteps = 64;             // of one program
inline constexpr uint32_t kMaxStepBytes = 16384;      // a pattern or replacement
inline constexpr uint32_t kMaxProbes = 256;           // of a hash table
inline constexpr uint32_t kMaxUnigramBytes = 1024;    // of a token that model Unigram makes
inline constexpr uint32_t kMaxCharsmapBytes = 1u << 26;
inline constexpr uint32_t kNoEntry = 0xFFFFFFFF;

// FileError: the spec breaks a rule of the format (a merge names an unknown token, ...).
StatusOr<std::string> WriteTokenizerTable(const TokenizerSpec& spec);

// The records as they lie in the table.
struct TableHeader {
  char magic[8];      // "KRAFTOK1"
  uint32_t version;   // 1
  uint32_t required;  // feature bits a reader must know
  uint32_t optional;  // feature bits a reader may ignore
  uint32_t n_sections;
  uint64_t total_bytes;
  uint8_t reserved[32];  // zero
};
struct TableSection {
  uint32_t kind;    // SectionKind
  uint32_t count;   // records
  uint64_t offset;  // from the start of the table, a multiple of 64
  uint64_t bytes;
  uint64_t reserved;  // zero
};
enum class SectionKind : uint32_t {
  kSettings = 1,        // one SettingsRecord
  kStrings = 2,         // bytes that the other sections point into
  kTokens = 3,          // TokenRecord by id
  kPieces = 4,          // hash table of token ids by text
  kMerges = 5,          // hash table of MergeRecord by (left, right)
  kByteTokens = 6,      // int32[256]: the token of a byte's letter in the byte alphabet, or -1
  kFallbackTokens = 7,  // int32[256]: the token <0xNN>, or -1
  kAddedTokens = 8,     // AddedRecord, raw ones first, each group by match text
  kSteps = 9,           // StepRecord: normaliser, pre-tokenizer, decoder, post-processor
  kScores = 10,         // float64 by id, for model Unigram
  kCharsmap = 11,       // bytes, for step Precompiled
};
struct SettingsRecord {
  uint32_t model;  // 1: BPE, 2: Unigram
  uint32_t flags;  // kSettingIgnoreMerges ...
  int32_t unk_id, bos_id, eos_id, pad_id;
  uint32_t n_raw_added;   // of kAddedTokens, the first ones are searched in the raw text
  uint32_t piece_probes;  // no key of kPieces lies further than this from its home slot
  uint32_t merge_probes;
  uint32_t n_steps[4];   // normaliser, pre-tokenizer, decoder, post-processor
  uint32_t strip_text;   // decoder, at the start of a text: offset in kStrings,
  uint32_t strip_bytes;  // length (0: nothing to strip)
  uint32_t strip_count;  // and how often at most
};
inline constexpr uint32_t kSettingIgnoreMerges = 1, kSettingByteFallback = 2, kSettingFuseUnk = 4,
                          kSettingDropFirst = 8;  // the first token loses every strip_text
inline constexpr uint32_t kModelBpe = 1, kModelUnigram = 2;

struct TokenRecord {
  uint32_t text, text_bytes;  // in kStrings
  uint32_t bytes, n_bytes;    // in kStrings: what it decodes to
  uint32_t flags;
};
inline constexpr uint32_t kTokenPresent = 1, kTokenInModel = 2, kTokenSpecial = 4, kTokenAdded = 8;
// The model never makes a special token out of text, whatever the vocabulary holds.
inline bool IsModelToken(const TokenRecord& token) {
  return (token.flags & (kTokenInModel | kTokenSpecial)) == kTokenInModel;
}

struct MergeRecord {
  uint32_t left, right, rank, result;  // left == kNoEntry: empty slot
};
struct AddedRecord {
  uint32_t id;
  uint32_t flags;
  uint32_t match, match_bytes;  // in kStrings
};
inline constexpr uint32_t kAddedSpecial = 1, kAddedNormalized = 2, kAddedLeftStrip = 4,
                          kAddedRightStrip = 8, kAddedSingleWord = 16;
struct StepRecord {
  uint32_t kind, flags, arg;
  uint32_t text, text_bytes, text2, text2_bytes;  // in kStrings
  uint32_t reserved;                              // zero
};

// Both hash functions are part of the format: multiply-xorshift, then the low bits.
inline uint64_t MixHash(uint64_t h) {
  h ^= h >> 32;
  h *= 0x9E3779B97F4A7C15u;
  return h ^ (h >> 29);
}
inline uint64_t MergeHash(uint32_t left, uint32_t right) {
  return MixHash((uint64_t{left} << 32 | right) * 0xD6E8FEB86659FD93u);
}
inline constexpr uint64_t kPieceHashStart = 0xCBF29CE484222325u;  // FNV-1a
inline uint64_t AddToPieceHash(uint64_t h, char c) {
  return (h ^ static_cast<uint8_t>(c)) * 0x100000001B3u;
}
inline uint64_t PieceHash(std::string_view text) {
  uint64_t h = kPieceHashStart;
  for (char c : text) h = AddToPieceHash(h, c);
  return MixHash(h);
}

class TokenizerTable {
 public:
  static StatusOr<TokenizerTable> Open(std::string_view blob);

  const SettingsRecord& settings() const { return *settings_; }
  std::span<const TokenRecord> tokens() const { return tokens_; }
  std::span<const AddedRecord> added() const { return added_; }
  std::span<const double> scores() const { return scores_; }  // model Unigram: one for each token
  std::string_view charsmap() const { return charsmap_; }
  // program: 0 normaliser, 1 pre-tokenizer, 2 decoder, 3 post-processor.
  std::span<const StepRecord> steps(int program) const;
  std::string_view String(uint32_t offset, uint32_t bytes) const {
    return strings_.substr(offset, bytes);
  }
  std::string_view Text(const TokenRecord& t) const { return String(t.text, t.text_bytes); }
  std::string_view Bytes(const TokenRecord& t) const { return String(t.bytes, t.n_bytes); }
  int32_t ByteToken(uint8_t byte) const { return byte_tokens_[byte]; }
  int32_t FallbackToken(uint8_t byte) const { return fallback_tokens_[byte]; }

  // Any token by its text, and the merge of a pair; -1 and nullptr when there is none.
  int32_t FindPiece(std::string_view text) const { return FindPiece(text, PieceHash(text)); }
  int32_t FindPiece(std::string_view text, uint64_t hash) const;
  const MergeRecord* FindMerge(uint32_t left, uint32_t right) const {
    uint64_t slot = MergeHash(left, right);
    for (uint32_t i = 0; i <= merge_probes_; ++i, ++slot) {
      const MergeRecord& m = merges_[slot & merge_mask_];
      if (m.left == left && m.right == right) return &m;
      if (m.left == kNoEntry) return nullptr;
    }
    return nullptr;
  }

 private:
  Status ReadSections(std::string_view blob);
  Status CheckSettings() const;
  Status CheckTokens() const;
  Status CheckHashes() const;
  Status CheckAdded() const;
  Status CheckSteps() const;
  bool HasString(uint32_t offset, uint32_t bytes) const {
    return uint64_t{offset} + bytes <= strings_.size();
  }
  bool IsTokenOrNone(int32_t id) const {
    return id >= -1 && id < static_cast<int64_t>(tokens_.size());
  }

  const SettingsRecord* settings_ = nullptr;
  std::string_view strings_;
  std::span<const TokenRecord> tokens_;
  std::span<const uint32_t> pieces_;
  std::span<const MergeRecord> merges_;
  std::span<const int32_t> byte_tokens_, fallback_tokens_;
  std::span<const AddedRecord> added_;
  std::span<const StepRecord> steps_;
  std::span<const double> scores_;
  std::string_view charsmap_;
  uint64_t merge_mask_ = 0;
  uint32_t merge_probes_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_TABLE_H_

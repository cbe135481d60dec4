// What a tokenizer is, before it is a table: the importers of lib/convert fill a TokenizerSpec from
// a tokenizer.json or from GGUF metadata, WriteTokenizerTable (table.h) makes the table of it. A
// further normaliser, pre-tokenizer or decoder is a StepKind here, a name in StepName and its case
// in the file that runs it; files that use it are refused by older readers, by name.
#ifndef KRAFLA_LIB_TOKENIZER_SPEC_H_
#define KRAFLA_LIB_TOKENIZER_SPEC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace krafla {

// The values are part of the table format.
enum class StepKind : uint32_t {
  // Normalisers.
  kNfc = 1,
  kNfd = 2,
  kNfkc = 3,
  kNfkd = 4,
  kReplace = 5,       // text -> text2, literally
  kPrepend = 6,       // text in front of a text that is not empty
  kStrip = 7,         // white space; flags kStripLeft, kStripRight
  kReplaceRegex = 8,  // matches of text -> text2
  kLowercase = 9,
  kStripAccents = 10,  // combining marks
  kNmt = 11,           // control characters go, other spaces become a space
  kPrecompiled = 12,   // SentencePiece's map of characters, spec.charsmap
  // Pre-tokenizers.
  kByteLevel = 32,        // flags kAddPrefixSpace, kUseRegex
  kDigits = 33,           // flag kIndividualDigits
  kSplitRegex = 34,       // text: pattern; arg: SplitBehavior; flag kInvert
  kSplitLiteral = 35,     // text: literal; arg: SplitBehavior; flag kInvert
  kMetaspace = 36,        // text: replacement; arg: PrependScheme; flag kMetaspaceSplit
  kWhitespace = 37,       // words and runs of signs; white space goes
  kWhitespaceSplit = 38,  // white space goes
  kPunctuation = 39,      // arg: SplitBehavior
  // Decoders.
  kDecodeByteLevel = 64,
  kDecodeReplace = 65,       // text -> text2 in every token
  kDecodeByteFallback = 66,  // <0xNN> is a byte
  kDecodeFuse = 67,          // what follows sees the whole text
  kDecodeStrip = 68,         // up to arg times text at the start, flags times at the end
  kDecodeMetaspace = 69,     // text: replacement; arg: PrependScheme
  // Post-processor.
  kAddBefore = 96,  // arg: id put in front; several: in order
  kAddAfter = 97,   // arg: id put behind
};

inline constexpr uint32_t kStripLeft = 1, kStripRight = 2;
inline constexpr uint32_t kAddPrefixSpace = 1, kUseRegex = 2;
inline constexpr uint32_t kIndividualDigits = 1;
inline constexpr uint32_t kInvert = 1;
inline constexpr uint32_t kMetaspaceSplit = 1;

enum class SplitBehavior : uint32_t {
  kRemoved = 0,
  kIsolated = 1,
  kMergedWithPrevious = 2,
  kMergedWithNext = 3,
  kContiguous = 4,
};
enum class PrependScheme : uint32_t { kNever = 0, kFirst = 1, kAlways = 2 };

struct Step {
  StepKind kind;
  uint32_t flags = 0;
  uint32_t arg = 0;
  std::string text;
  std::string text2;
};

struct TokenSpec {
  std::string text;       // the vocabulary's spelling
  bool present = false;   // false: a hole in the id range
  bool in_model = false;  // the model may produce it (added tokens outside the vocabulary: false)
  double score = 0;       // for model Unigram
};

struct MergeSpec {
  uint32_t left, right, result;
};

struct AddedTokenSpec {
  uint32_t id = 0;
  std::string content;
  bool special = false;
  bool normalized = false;  // found in the normalised text, not in the raw text
  bool lstrip = false, rstrip = false, single_word = false;
};

struct TokenizerSpec {
  std::vector<TokenSpec> tokens;      // by id
  std::vector<MergeSpec> merges;      // by rank; of equal pairs the last counts
  std::vector<AddedTokenSpec> added;  // of equal contents the first counts
  std::vector<Step> normalizer, pre_tokenizer, decoder, post_processor;
  std::string charsmap;        // for step kPrecompiled
  bool is_unigram = false;     // scores instead of merges
  bool ignore_merges = false;  // a word that is a token is that token
  bool byte_fallback = false;  // an unknown character becomes <0xNN> tokens
  bool fuse_unk = false;       // unknown characters in a row are one token
  int32_t unk_id = -1, bos_id = -1, eos_id = -1, pad_id = -1;
};

std::string_view StepName(StepKind kind);  // "ByteLevel"; empty for an unknown kind

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_SPEC_H_

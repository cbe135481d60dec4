// Split patterns: written for Oniguruma in tokenizer files, run by PCRE2 here. TranslatePattern
// rewrites what the two read differently; Pattern is a compiled one, const and thread-safe.
#ifndef KRAFLA_LIB_TOKENIZER_PATTERN_H_
#define KRAFLA_LIB_TOKENIZER_PATTERN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace krafla {

// UnsupportedError names a construct that has no equal here. \s, \w, \h and the general categories
// get the characters that Oniguruma (Unicode 16) gives them.
StatusOr<std::string> TranslatePattern(std::string_view oniguruma);

// The pattern of GPT-2, which pre-tokenizer ByteLevel brings along.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class PatternScratch;

class Pattern {
 public:
  // FileError: not a pattern.
  static StatusOr<std::unique_ptr<Pattern>> Compile(std::string_view oniguruma);
  ~Pattern();

  // One pass over a text, yielding the matches as Hugging Face sees them.
  class Matches {
   public:
    Matches(const Pattern& pattern, std::string_view text, PatternScratch* scratch)
        : pattern_(pattern), text_(text), scratch_(scratch) {}
    // false at the end. ArgumentError: the pattern needs more steps or memory than it may have.
    StatusOr<bool> Next(size_t* begin, size_t* end);

   private:
    const Pattern& pattern_;
    std::string_view text_;
    PatternScratch* scratch_;
    size_t from_ = 0;
    size_t last_end_ = SIZE_MAX;
  };

 private:
  struct Impl;
  friend class PatternScratch;
  explicit Pattern(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The memory that matching works in; one for each thread, made once a call.
class PatternScratch {
 public:
  PatternScratch();
  ~PatternScratch();
  PatternScratch(const PatternScratch&) = delete;
  PatternScratch& operator=(const PatternScratch&) = delete;

 private:
  friend class Pattern::Matches;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_PATTERN_H_

// The pre-tokenizer: cuts a stretch of normalised text into the words that the model sees one by
// one. Each step refines the words of the step before; a step that changes the text copies it once.
#ifndef KRAFLA_LIB_TOKENIZER_PRE_TOKENIZER_H_
#define KRAFLA_LIB_TOKENIZER_PRE_TOKENIZER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/tokenizer/normalizer.h"
#include "lib/tokenizer/pattern.h"

namespace krafla {

struct WordRange {
  uint32_t begin, end;
};

// The words of one stretch, and the memory they are made in, used again for the next stretch.
struct Words {
  std::string_view text;          // the caller's, or `buffer`
  size_t head = 0;                // TrustedText::head of it
  std::vector<WordRange> ranges;  // into text; none is empty
  std::string buffer, next_buffer;
  std::vector<WordRange> next_ranges;
  PatternScratch pattern_scratch;
};

class PreTokenizer {
 public:
  // FileError, UnsupportedError: a pattern that cannot be compiled, a flag that is not known.
  static StatusOr<PreTokenizer> Make(std::vector<StepView> steps);

  // The model gets bytes: the last step is ByteLevel, whose alphabet the model's lookups imply.
  bool gives_bytes() const { return gives_bytes_; }
  // head: so many bytes at the front come from the first character of the whole text as it was
  // before the normaliser. The text must outlive *words.
  Status Run(std::string_view text, size_t head, Words* words) const;

 private:
  struct CompiledStep {
    StepView step;
    std::unique_ptr<Pattern> pattern;
  };
  Status RunStep(const CompiledStep& step, bool is_last, Words* words) const;

  std::vector<CompiledStep> steps_;
  bool gives_bytes_ = false;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_PRE_TOKENIZER_H_

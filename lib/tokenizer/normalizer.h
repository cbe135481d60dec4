// The normaliser of a tokenizer: Unicode forms, characters dropped or replaced, and the rewritings
// of SentencePiece-style files. Linear in the text but for sorting runs of combining marks; the
// output is bounded. Trust, when it is asked for, follows the bytes: what is made of several
// characters is trusted if all of them were. Of the first character of a whole text it is known
// what became of it (TrustedText::head).
#ifndef KRAFLA_LIB_TOKENIZER_NORMALIZER_H_
#define KRAFLA_LIB_TOKENIZER_NORMALIZER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/charsmap.h"
#include "lib/tokenizer/pattern.h"
#include "lib/tokenizer/spec.h"
#include "lib/tokenizer/table.h"
#include "lib/tokenizer/trusted_text.h"

namespace krafla {

// A step as the running code sees it; the texts lie in the table or in the spec.
struct StepView {
  StepKind kind;
  uint32_t flags, arg;
  std::string_view text, text2;
};
std::vector<StepView> ViewSteps(std::span<const Step> steps);
std::vector<StepView> ViewSteps(const TokenizerTable& table, int program);

class Normalizer {
 public:
  // FileError, UnsupportedError: a pattern or a map of characters that cannot be used.
  static StatusOr<Normalizer> Make(std::vector<StepView> steps, std::string_view charsmap);

  bool IsIdentity() const { return steps_.empty(); }
  // text is valid UTF-8; trust is empty or as long. at_start: the text is the beginning of a whole
  // one, *out gets its head. ArgumentError: the output would be far too
  // long, or a pattern gave up.
  Status Normalize(std::string_view text, std::span<const uint8_t> trust, bool at_start,
                   TrustedText* out) const;
  Status Normalize(std::string_view text, std::string* out) const;

 private:
  struct CompiledStep {
    StepView step;
    std::unique_ptr<Pattern> pattern;  // of kReplaceRegex
  };
  Status RunStep(const CompiledStep& step, const TrustedText& in, TrustedText* out) const;

  std::vector<CompiledStep> steps_;
  Charsmap charsmap_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_NORMALIZER_H_

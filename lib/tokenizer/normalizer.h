// The normaliser of a tokenizer: Unicode forms, and the literal rewritings of SentencePiece-style
// files. Linear in the text but for sorting runs of combining marks; the output is bounded. Trust,
// when it is asked for, follows the bytes: what is made of several characters is trusted if all of
// them were.
#ifndef KRAFLA_LIB_TOKENIZER_NORMALIZER_H_
#define KRAFLA_LIB_TOKENIZER_NORMALIZER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/tokenizer/spec.h"
#include "lib/tokenizer/table.h"

namespace krafla {

// A step as the running code sees it; the texts lie in the table or in the spec.
struct StepView {
  StepKind kind;
  uint32_t flags, arg;
  std::string_view text, text2;
};
std::vector<StepView> ViewSteps(std::span<const Step> steps);
std::vector<StepView> ViewSteps(const TokenizerTable& table, int program);

// Text with one trust byte (0 or 1) for each of its bytes, or none where nobody asks.
struct TrustedText {
  std::string text;
  std::vector<uint8_t> trust;
};

class Normalizer {
 public:
  explicit Normalizer(std::vector<StepView> steps) : steps_(std::move(steps)) {}
  explicit Normalizer(std::span<const Step> steps) : steps_(ViewSteps(steps)) {}

  bool IsIdentity() const { return steps_.empty(); }
  // text is valid UTF-8; trust is empty or as long. ArgumentError: the output would be far too
  // long.
  Status Normalize(std::string_view text, std::span<const uint8_t> trust, TrustedText* out) const;
  Status Normalize(std::string_view text, std::string* out) const;

 private:
  std::vector<StepView> steps_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_NORMALIZER_H_

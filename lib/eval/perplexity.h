// Perplexity of a text under a model, by the rule of `ml_eval ppl` (docs/user-guide.md).
#ifndef KRAFLA_LIB_EVAL_PERPLEXITY_H_
#define KRAFLA_LIB_EVAL_PERPLEXITY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/status.h"
#include "lib/model/model.h"
#include "lib/session/session.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

struct Perplexity {
  double perplexity = 0;
  uint64_t targets = 0;
  double mean_nll = 0;  // nats
};

// -log softmax(logits)[target] in nats, in double.
double NegativeLogLikelihood(std::span<const float> logits, int32_t target);

// Chunks of options.context tokens; positions context/2 .. context-2 of each are scored. progress:
// in tokens.
StatusOr<Perplexity> MeasurePerplexity(const std::shared_ptr<const Model>& model,
                                       const Tokenizer& tokenizer, std::string_view text,
                                       const SessionOptions& options, LoadProgress progress,
                                       void* user);

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_PERPLEXITY_H_

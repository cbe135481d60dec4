// What a drift does to greedy generation: how long a model's continuations stay a reference's, and
// whether it finds a sentence in a long text.
#ifndef KRAFLA_LIB_EVAL_GENERATION_H_
#define KRAFLA_LIB_EVAL_GENERATION_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "lib/base/status.h"
#include "lib/model/model.h"
#include "lib/session/session.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

struct MatchOptions {
  SessionOptions reference;  // their contexts are not looked at
  SessionOptions model;
  int64_t prompts = 8;
  int64_t prompt_tokens = 64;
  int64_t tokens = 64;              // generated for each
  LoadProgress progress = nullptr;  // in prompts
  void* user = nullptr;
};

// Tokens before the first that differs, over all prompts.
struct Match {
  int64_t prompts = 0;
  int64_t tokens = 0;  // of each, at most
  double mean = 0;
  int64_t least = 0;
  int64_t complete = 0;  // prompts without a difference
};

// Prompts are taken from all over the text; each model goes on by its likeliest token. Argument
// Error: a text of fewer tokens than prompts * prompt_tokens.
StatusOr<Match> MeasureMatch(const std::shared_ptr<const Model>& reference,
                             const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                             std::string_view text, const MatchOptions& options);

struct Needle {
  int64_t depths = 0;
  int64_t found = 0;
};

// A sentence with a number stands at `depths` depths, evenly from start to end, in as much of the
// text as fills options.context; the model is asked for the number at the end of it.
StatusOr<Needle> MeasureNeedle(const std::shared_ptr<const Model>& model,
                               const Tokenizer& tokenizer, std::string_view text,
                               const SessionOptions& options, int64_t depths, LoadProgress progress,
                               void* user);

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_GENERATION_H_

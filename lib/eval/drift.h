// How far a model's predictions over a text drift from a reference model's, both reading the text
// itself (teacher forcing): KL divergence, agreement, perplexity.
#ifndef KRAFLA_LIB_EVAL_DRIFT_H_
#define KRAFLA_LIB_EVAL_DRIFT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "lib/base/status.h"
#include "lib/eval/divergence.h"
#include "lib/model/model.h"
#include "lib/session/session.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

struct DriftOptions {
  SessionOptions reference;  // its context is not looked at
  SessionOptions model;      // context: of a chunk
  int64_t from = -1;         // first position of a chunk that is scored; -1: context / 2
  int64_t top_k = 10;
  int64_t max_chunks = 0;  // 0: all of the text
  // Non-empty: a file that holds the reference's log-probabilities of the scored positions, so that
  // it need not run again. Made where absent or of something else. They are f16, which moves a mean
  // KL by about 1e-7.
  std::string cache;
  LoadProgress progress = nullptr;  // in tokens
  void* user = nullptr;
};

// Positions from .. context - 2 of each chunk are scored, as MeasurePerplexity does. ArgumentError:
// vocabularies of different sizes, or a text shorter than one chunk.
StatusOr<DriftStatistics> MeasureDrift(const std::shared_ptr<const Model>& reference,
                                       const std::shared_ptr<const Model>& model,
                                       const Tokenizer& tokenizer, std::string_view text,
                                       const DriftOptions& options);

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_DRIFT_H_

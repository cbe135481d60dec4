// See perplexity.h. Rows are scored as they come, so that no chunk's logits are ever kept together;
// sums are double, by lib/base/math.h, so that the figure is the same on every machine.
#include "lib/eval/perplexity.h"

#include <vector>

#include "lib/base/math.h"
#include "lib/eval/eval_progress.h"
#include "lib/eval/text_chunks.h"

namespace krafla {
namespace {

struct Scores {
  std::span<const int32_t> chunk;
  double sum = 0;
  uint64_t targets = 0;
};

int Score(void* user, int64_t position, const float* row, size_t n_vocab) {
  Scores& scores = *static_cast<Scores*>(user);
  const size_t next = static_cast<size_t>(position) + 1;
  if (next < scores.chunk.size()) {
    scores.sum += NegativeLogLikelihood({row, n_vocab}, scores.chunk[next]);
    ++scores.targets;
  }
  return 0;
}

}  // namespace

double NegativeLogLikelihood(std::span<const float> logits, int32_t target) {
  float max = logits[0];
  for (const float logit : logits) max = logit > max ? logit : max;
  double sum = 0;
  for (const float logit : logits) sum += Exp(static_cast<double>(logit) - max);
  return Log(sum) + max - logits[static_cast<size_t>(target)];
}

StatusOr<Perplexity> MeasurePerplexity(const std::shared_ptr<const Model>& model,
                                       const Tokenizer& tokenizer, std::string_view text,
                                       const SessionOptions& options, LoadProgress progress,
                                       void* user) {
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<std::vector<int32_t>> chunks,
                          TextChunks(tokenizer, text, options.context));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, Session::Create(model, options));

  const size_t context = static_cast<size_t>(options.context);
  EvalProgress told(progress, user, chunks.size() * context);
  Scores scores;
  AppendOptions read;
  read.logits = WantLogits::kNone;
  AppendOptions score;
  score.logits = WantLogits::kAll;
  score.on_logits = Score;
  score.user = &scores;
  for (size_t c = 0; c < chunks.size(); ++c) {
    scores.chunk = chunks[c];
    KRAFLA_RETURN_IF_ERROR(session->Truncate(0, nullptr));
    KRAFLA_RETURN_IF_ERROR(told.Append(session.get(), scores.chunk.first(context / 2), read));
    KRAFLA_RETURN_IF_ERROR(told.Append(session.get(), scores.chunk.subspan(context / 2), score));
    KRAFLA_RETURN_IF_ERROR(told.Report((c + 1) * context));
  }
  Perplexity result;
  result.targets = scores.targets;
  result.mean_nll = scores.sum / static_cast<double>(scores.targets);
  result.perplexity = Exp(result.mean_nll);
  return result;
}

}  // namespace krafla

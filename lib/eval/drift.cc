// See drift.h. Both sessions read a chunk in the same short pieces, so that only a piece's logits
// are in memory: a whole chunk of a large vocabulary would be gigabytes.
#include "lib/eval/drift.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "lib/eval/eval_progress.h"
#include "lib/eval/reference_rows.h"
#include "lib/eval/text_chunks.h"

namespace krafla {
namespace {

constexpr size_t kPiece = 64;  // positions

struct Scores {
  const ReferenceRows* reference;
  std::span<const int32_t> targets;  // of this piece
  size_t top_k;
  DriftSums* sums;
  size_t next = 0;
  std::vector<float> scratch;
};

int Score(void* user, int64_t, const float* row, size_t n_vocab) {
  Scores& scores = *static_cast<Scores*>(user);
  const size_t i = scores.next++;
  Divergence divergence = Compare(scores.reference->row(i), {row, n_vocab}, scores.targets[i],
                                  scores.top_k, &scores.scratch);
  divergence.reference_nll = scores.reference->nll(i).value_or(divergence.reference_nll);
  scores.sums->Add(divergence);
  return 0;
}

Status ScoreChunk(std::span<const int32_t> chunk, size_t from, Session* session,
                  ReferenceRows* reference, EvalProgress* progress, Scores* scores) {
  KRAFLA_RETURN_IF_ERROR(reference->BeginChunk(chunk.first(from)));
  AppendOptions read;
  read.logits = WantLogits::kNone;
  AppendOptions score;
  score.logits = WantLogits::kAll;
  score.on_logits = Score;
  score.user = scores;
  KRAFLA_RETURN_IF_ERROR(session->Truncate(0, nullptr));
  KRAFLA_RETURN_IF_ERROR(progress->Append(session, chunk.first(from), read));
  for (size_t at = from; at + 1 < chunk.size(); at += kPiece) {
    const size_t n = std::min(kPiece, chunk.size() - 1 - at);
    scores->targets = chunk.subspan(at + 1, n);
    scores->next = 0;
    KRAFLA_RETURN_IF_ERROR(reference->Read(chunk.subspan(at, n), scores->targets));
    KRAFLA_RETURN_IF_ERROR(progress->Append(session, chunk.subspan(at, n), score));
  }
  scores->sums->EndChunk();
  return OkStatus();
}

Status CheckOptions(const Model& reference, const Model& model, const DriftOptions& options,
                    int64_t from) {
  if (reference.config().n_vocab != model.config().n_vocab) {
    return ArgumentError("drift: vocabulary of {}, the reference has {}", model.config().n_vocab,
                         reference.config().n_vocab);
  }
  if (from < 0 || from > options.model.context - 2) {
    return ArgumentError("drift: from: got {}, want 0 to {}", from, options.model.context - 2);
  }
  if (options.top_k < 1)
    return ArgumentError("drift: top_k: got {}, want 1 or more", options.top_k);
  return OkStatus();
}

}  // namespace

StatusOr<DriftStatistics> MeasureDrift(const std::shared_ptr<const Model>& reference,
                                       const std::shared_ptr<const Model>& model,
                                       const Tokenizer& tokenizer, std::string_view text,
                                       const DriftOptions& options) {
  const int64_t context = options.model.context;
  KRAFLA_ASSIGN_OR_RETURN(std::vector<std::vector<int32_t>> chunks,
                          TextChunks(tokenizer, text, context));
  if (options.max_chunks > 0 && chunks.size() > static_cast<size_t>(options.max_chunks)) {
    chunks.resize(static_cast<size_t>(options.max_chunks));
  }
  const int64_t from = options.from < 0 ? context / 2 : options.from;
  KRAFLA_RETURN_IF_ERROR(CheckOptions(*reference, *model, options, from));
  SessionOptions reference_options = options.reference;
  reference_options.context = context;
  EvalProgress progress(options.progress, options.user,
                        chunks.size() * static_cast<uint64_t>(context));
  KRAFLA_ASSIGN_OR_RETURN(
      const std::unique_ptr<ReferenceRows> rows,
      ReferenceRows::Open(reference, reference_options, chunks, from, options.cache, &progress));
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                          Session::Create(model, options.model));
  DriftSums sums;
  Scores scores{rows.get(), {}, static_cast<size_t>(options.top_k), &sums, 0, {}};
  for (size_t c = 0; c < chunks.size(); ++c) {
    KRAFLA_RETURN_IF_ERROR(ScoreChunk(chunks[c], static_cast<size_t>(from), session.get(),
                                      rows.get(), &progress, &scores));
    KRAFLA_RETURN_IF_ERROR(progress.Report((c + 1) * static_cast<uint64_t>(context)));
  }
  KRAFLA_RETURN_IF_ERROR(rows->Finish());
  return sums.Finish();
}

}  // namespace krafla

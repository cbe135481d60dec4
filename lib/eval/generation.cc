// See generation.h.
#include "lib/eval/generation.h"

#include <algorithm>
#include <string>
#include <vector>

#include "lib/eval/eval_progress.h"

namespace krafla {
namespace {

constexpr std::string_view kNeedle = "\nThe secret number of the archive is 7491.\n";
constexpr std::string_view kQuestion = "\nThe secret number of the archive is";
constexpr std::string_view kAnswer = "7491";
constexpr int64_t kAnswerTokens = 8;

using Ids = std::vector<int32_t>;

// The likeliest token, n times; ties go to the lower id.
StatusOr<Ids> Continue(Session* session, int64_t n, EvalProgress* progress) {
  Ids ids;
  for (int64_t i = 0; i < n; ++i) {
    const std::span<const float> logits = session->logits();
    const auto best = std::max_element(logits.begin(), logits.end());
    ids.push_back(static_cast<int32_t>(best - logits.begin()));
    if (i + 1 < n) KRAFLA_RETURN_IF_ERROR(progress->Append(session, std::span(ids).last(1), {}));
  }
  return ids;
}

Status Encode(const Tokenizer& tokenizer, std::string_view text, Ids* ids) {
  return tokenizer.Encode(text, /*add_special=*/false, /*parse_special=*/false, ids);
}

}  // namespace

StatusOr<Match> MeasureMatch(const std::shared_ptr<const Model>& reference,
                             const std::shared_ptr<const Model>& model, const Tokenizer& tokenizer,
                             std::string_view text, const MatchOptions& options) {
  Ids ids;
  KRAFLA_RETURN_IF_ERROR(Encode(tokenizer, text, &ids));
  const auto n_ids = static_cast<int64_t>(ids.size());
  if (options.prompts < 1 || options.prompt_tokens < 1 || options.tokens < 1 ||
      n_ids / options.prompts < options.prompt_tokens) {
    return ArgumentError("match: the text has {} tokens, want {} prompts of {}", n_ids,
                         options.prompts, options.prompt_tokens);
  }
  SessionOptions session_options[2] = {options.reference, options.model};
  std::unique_ptr<Session> sessions[2];
  for (size_t i = 0; i < 2; ++i) {
    session_options[i].context = options.prompt_tokens + 1 + options.tokens;
    KRAFLA_ASSIGN_OR_RETURN(sessions[i],
                            Session::Create(i == 0 ? reference : model, session_options[i]));
  }
  EvalProgress progress(options.progress, options.user, static_cast<uint64_t>(options.prompts));
  Match match;
  match.prompts = options.prompts;
  match.tokens = options.tokens;
  match.least = options.tokens;
  for (int64_t p = 0; p < options.prompts; ++p) {
    Ids prompt;
    if (tokenizer.adds_bos()) prompt.push_back(tokenizer.bos_id());
    const auto from = ids.begin() + p * (n_ids / options.prompts);
    prompt.insert(prompt.end(), from, from + options.prompt_tokens);
    Ids answers[2];
    for (size_t i = 0; i < 2; ++i) {
      KRAFLA_RETURN_IF_ERROR(sessions[i]->Truncate(0, nullptr));
      KRAFLA_RETURN_IF_ERROR(progress.Append(sessions[i].get(), prompt, {}));
      KRAFLA_ASSIGN_OR_RETURN(answers[i], Continue(sessions[i].get(), options.tokens, &progress));
    }
    const int64_t same =
        std::mismatch(answers[0].begin(), answers[0].end(), answers[1].begin()).first -
        answers[0].begin();
    match.mean += static_cast<double>(same) / static_cast<double>(options.prompts);
    match.least = std::min(match.least, same);
    match.complete += same == options.tokens ? 1 : 0;
    KRAFLA_RETURN_IF_ERROR(progress.Report(static_cast<uint64_t>(p + 1)));
  }
  return match;
}

StatusOr<Needle> MeasureNeedle(const std::shared_ptr<const Model>& model,
                               const Tokenizer& tokenizer, std::string_view text,
                               const SessionOptions& options, int64_t depths, LoadProgress progress,
                               void* user) {
  Ids hay;
  Ids needle;
  Ids question;
  KRAFLA_RETURN_IF_ERROR(Encode(tokenizer, text, &hay));
  KRAFLA_RETURN_IF_ERROR(Encode(tokenizer, kNeedle, &needle));
  KRAFLA_RETURN_IF_ERROR(Encode(tokenizer, kQuestion, &question));
  KRAFLA_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create(model, options));
  const auto room = session->context() - 1 - kAnswerTokens -
                    static_cast<int64_t>(needle.size() + question.size());
  if (room < 1 || static_cast<int64_t>(hay.size()) < room || depths < 1) {
    return ArgumentError("needle: the text has {} tokens, a context of {} wants {}", hay.size(),
                         session->context(), room);
  }
  EvalProgress told(progress, user, static_cast<uint64_t>(depths));
  Needle result;
  result.depths = depths;
  for (int64_t d = 0; d < depths; ++d) {
    const int64_t at = depths == 1 ? room / 2 : room * d / (depths - 1);
    Ids prompt;
    if (tokenizer.adds_bos()) prompt.push_back(tokenizer.bos_id());
    prompt.insert(prompt.end(), hay.begin(), hay.begin() + at);
    prompt.insert(prompt.end(), needle.begin(), needle.end());
    prompt.insert(prompt.end(), hay.begin() + at, hay.begin() + room);
    prompt.insert(prompt.end(), question.begin(), question.end());
    KRAFLA_RETURN_IF_ERROR(session->Truncate(0, nullptr));
    KRAFLA_RETURN_IF_ERROR(told.Append(session.get(), prompt, {}));
    KRAFLA_ASSIGN_OR_RETURN(const Ids answer, Continue(session.get(), kAnswerTokens, &told));
    std::string said;
    KRAFLA_RETURN_IF_ERROR(tokenizer.Decode(answer, /*skip_special=*/true, &said));
    result.found += said.find(kAnswer) != std::string::npos ? 1 : 0;
    KRAFLA_RETURN_IF_ERROR(told.Report(static_cast<uint64_t>(d + 1)));
  }
  return result;
}

}  // namespace krafla

// See generation.h.
#include "capi/generation.h"

#include <algorithm>
#include <string>

#include "capi/structs.h"
#include "lib/base/duration.h"
#include "lib/base/utf8.h"
#include "lib/sampler/logprobs.h"

namespace krafla::capi {
namespace {

constexpr size_t kMaxEndIds = 4096;  // searched for every token
constexpr size_t kMaxStops = 1024;
constexpr size_t kMaxStopBytes = 4096;
constexpr int32_t kMaxTop = 64;

StatusOr<std::vector<std::string>> ReadStops(const krafla_generate_options& options) {
  constexpr const char* kWhere = "krafla_generate_options: stops";
  KRAFLA_RETURN_IF_ERROR(CheckArray(options.stops, options.n_stops, kWhere));
  if (options.n_stops > kMaxStops) {
    return ArgumentError("{}: got {}, want at most {}", kWhere, options.n_stops, kMaxStops);
  }
  std::vector<std::string> stops;
  for (size_t i = 0; i < options.n_stops; ++i) {
    const krafla_string& given = options.stops[i];
    KRAFLA_ASSIGN_OR_RETURN(const std::string_view stop,
                            ReadString(given.text, given.length, kWhere));
    if (stop.empty() || stop.size() > kMaxStopBytes || ValidUtf8Prefix(stop) != stop.size()) {
      return ArgumentError("{}[{}]: got {} bytes, want 1 to {} bytes of UTF-8", kWhere, i,
                           stop.size(), kMaxStopBytes);
    }
    stops.emplace_back(stop);
  }
  return stops;
}

Status CheckNumbers(const krafla_generate_options& options) {
  if (options.max_tokens < 0) {
    return ArgumentError("krafla_generate_options: max_tokens: got {}, want 0 or more",
                         options.max_tokens);
  }
  KRAFLA_RETURN_IF_ERROR(
      CheckArray(options.end_ids, options.n_end_ids, "krafla_generate_options: end_ids"));
  if (options.n_end_ids > kMaxEndIds) {
    return ArgumentError("krafla_generate_options: n_end_ids: got {}, want at most {}",
                         options.n_end_ids, kMaxEndIds);
  }
  if (options.n_top < 0 || options.n_top > kMaxTop) {
    return ArgumentError("krafla_generate_options: n_top: got {}, want 0 to {}", options.n_top,
                         kMaxTop);
  }
  return OkStatus();
}

}  // namespace

StatusOr<std::unique_ptr<Generation>> Generation::Create(krafla_session* session,
                                                         krafla_sampler* sampler,
                                                         const krafla_generate_options& options) {
  KRAFLA_RETURN_IF_ERROR(CheckNumbers(options));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<std::string> stops, ReadStops(options));
  std::unique_ptr<Generation> made(new Generation(session, options));
  made->end_ids_.assign(options.end_ids, options.end_ids + options.n_end_ids);
  made->sampler_ = sampler->shared;
  KRAFLA_RETURN_IF_ERROR(made->OpenText(std::move(stops)));
  const auto n_vocab = static_cast<size_t>(session->shared->model->config().n_vocab);
  const size_t n_top = options.logprobs != 0 ? static_cast<size_t>(options.n_top) : 0;
  made->top_ids_.resize(std::min(n_top, n_vocab));
  made->top_logprobs_.resize(made->top_ids_.size());
  made->before_ = session->session->length();
  // The history's room for the whole reply is taken now.
  int64_t most = session->session->context() - session->session->length();
  if (options.max_tokens > 0) most = std::min(most, options.max_tokens);
  Busy busy(sampler->shared->busy);
  KRAFLA_RETURN_IF_ERROR(busy.status());
  made->sampler_->sampler->ReserveForAccept(static_cast<size_t>(most));
  return made;
}

Status Generation::OpenText(std::vector<std::string> stops) {
  if (options_.tokenizer != nullptr) {
    tokenizer_ = options_.tokenizer->tokenizer;
  } else if (!session_->shared->model->tokenizer_table().empty()) {
    KRAFLA_ASSIGN_OR_RETURN(tokenizer_, session_->shared->tokenizer());
  }
  if (tokenizer_ != nullptr) {
    text_.emplace(tokenizer_.get(), std::move(stops));
  } else if (!stops.empty()) {
    return NotFoundError("stops: the model carries no tokenizer, and none was given");
  }
  return OkStatus();
}

Status Generation::CheckLogits() const {
  if (!session_->session->logits().empty()) return OkStatus();
  return StateError("generate: the session has no logits: append a prompt first");
}

StatusOr<bool> Generation::Step(int64_t max_us) {
  Busy busy(sampler_->busy);
  KRAFLA_RETURN_IF_ERROR(busy.status());
  const auto deadline = Clock::now() + AtMostAYear(max_us);
  bool worked = false;  // each slice does something, however short it is
  while (result_.finish == 0) {
    if (!reading_) {
      KRAFLA_RETURN_IF_ERROR(Next());
      continue;
    }
    int64_t left = max_us;
    if (max_us > 0) {
      left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now()).count();
      if (left <= 0 && worked) return false;
      left = std::max<int64_t>(left, 1);
    }
    KRAFLA_RETURN_IF_ERROR(Read(left));
    worked = true;
    if (reading_ || max_us == 0) return result_.finish != 0;
  }
  return true;
}

// Samples one token and begins to read it, or notes in result why there is none.
Status Generation::Next() {
  Session& session = *session_->session;
  if (options_.max_tokens > 0 && result_.n_tokens >= options_.max_tokens) {
    Finish(KRAFLA_FINISH_LENGTH);
    return OkStatus();
  }
  if (session.length() >= session.context()) {
    Finish(KRAFLA_FINISH_CONTEXT);
    return OkStatus();
  }
  KRAFLA_RETURN_IF_ERROR(CheckLogits());
  KRAFLA_ASSIGN_OR_RETURN(const int32_t id, sampler_->sampler->Sample(session.logits()));
  if (Ends(id)) {
    result_.end_id = id;
    Finish(KRAFLA_FINISH_END);
    return OkStatus();
  }
  std::string_view text;
  if (text_) {
    KRAFLA_ASSIGN_OR_RETURN(text, text_->Push(id));
  }
  after_ = 0;
  if (Tell(id, text)) after_ = KRAFLA_FINISH_CALLBACK;
  if (text_ && text_->stop() >= 0) after_ = KRAFLA_FINISH_STOP;
  // The session and the sampler's history stay in step: after the append nothing fails.
  sampler_->sampler->ReserveForAccept(1);
  KRAFLA_RETURN_IF_ERROR(session.Begin({&id, 1}, AppendOptions{}));
  id_ = id;
  reading_ = true;
  return OkStatus();
}

Status Generation::Read(int64_t max_us) {
  KRAFLA_ASSIGN_OR_RETURN(const bool done, session_->session->Step(max_us));
  if (!done) return OkStatus();
  reading_ = false;
  KRAFLA_RETURN_IF_ERROR(sampler_->sampler->Accept(id_));
  ++result_.n_tokens;
  if (after_ == KRAFLA_FINISH_STOP) result_.stop = text_->stop();
  if (after_ != 0) Finish(after_);
  return OkStatus();
}

void Generation::Abandon() {
  if (reading_) session_->session->Abandon();
  reading_ = false;
}

void Generation::Finish(int32_t how) {
  result_.finish = how;
  session_->NoteAppend(before_);
  if (!text_) return;
  const std::string_view rest = text_->Finish();
  if (!rest.empty()) Tell(-1, rest);
}

bool Generation::Ends(int32_t id) const {
  if (std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end()) return true;
  if (options_.ignore_end != 0) return false;
  const std::vector<int32_t>& own = session_->shared->end_ids;
  return std::find(own.begin(), own.end(), id) != own.end();
}

bool Generation::Tell(int32_t id, std::string_view text) {
  if (options_.on_token == nullptr) return false;
  krafla_token token{};
  token.struct_size = sizeof(token);
  token.id = id;
  token.position = session_->session->length();
  token.text = text.data();
  token.text_length = text.size();
  if (options_.logprobs != 0 && id >= 0) {
    const std::span<const float> logits = session_->session->logits();
    const double scale = LogSumExp(logits);
    token.logprob = LogProb(logits[static_cast<size_t>(id)], scale);
    TopLogProbs(logits, scale, top_ids_, top_logprobs_);
    token.n_top = static_cast<int32_t>(top_ids_.size());
    token.top_ids = top_ids_.data();
    token.top_logprobs = top_logprobs_.data();
  }
  return options_.on_token(options_.user, &token) != 0;
}

}  // namespace krafla::capi

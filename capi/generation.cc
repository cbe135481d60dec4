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
constexpr size_t kMostRead = 256;  // tokens in one append

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

// The two must mean the same by an id; a longer tail of unused ids (padding) is no difference.
Status CheckDraftModel(const krafla_session& session, const krafla_session* draft) {
  constexpr const char* kWhere = "krafla_speculation: draft";
  if (draft == nullptr) return ArgumentError("{}: got NULL, want a session", kWhere);
  if (draft == &session) return ArgumentError("{}: got the session that generates", kWhere);
  SessionUse use(draft);
  KRAFLA_RETURN_IF_ERROR(use.status());
  const Model& model = *session.shared->model;
  const Model& other = *draft->shared->model;
  if (model.tokenizer_table() != other.tokenizer_table()) {
    return UnsupportedError("{}: its model \"{}\" has another tokenizer than \"{}\"", kWhere,
                            other.config().name, model.config().name);
  }
  if (model.tokenizer_table().empty() && model.config().n_vocab != other.config().n_vocab) {
    return UnsupportedError("{}: its model has {} ids, want {}", kWhere, other.config().n_vocab,
                            model.config().n_vocab);
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
  made->chosen_.reserve(kMostRead);
  KRAFLA_RETURN_IF_ERROR(made->OpenText(std::move(stops)));
  KRAFLA_RETURN_IF_ERROR(made->OpenConstraint(options.constraint));
  const auto n_vocab = static_cast<size_t>(session->shared->model->config().n_vocab);
  const size_t n_top = options.logprobs != 0 ? static_cast<size_t>(options.n_top) : 0;
  made->top_ids_.resize(std::min(n_top, n_vocab));
  made->top_logprobs_.resize(made->top_ids_.size());
  made->chain_top_ids_.resize(made->top_ids_.size());
  made->chain_top_logprobs_.resize(made->top_ids_.size());
  made->before_ = session->session->length();
  KRAFLA_RETURN_IF_ERROR(made->OpenSpeculation(options.speculation));
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
    tokenizer_owner_ = options_.tokenizer->owner;
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

Status Generation::OpenConstraint(const krafla_constraint* given) {
  if (given == nullptr) return OkStatus();
  if (tokenizer_ == nullptr) {
    return NotFoundError("constraint: the model carries no tokenizer, and none was given");
  }
  std::vector<int32_t> ends = end_ids_;
  if (options_.ignore_end == 0) {
    const std::vector<int32_t>& own = session_->shared->end_ids;
    ends.insert(ends.end(), own.begin(), own.end());
  }
  KRAFLA_ASSIGN_OR_RETURN(constraint_, ConstrainedReply::Create(*given, *tokenizer_, ends));
  return OkStatus();
}

Status Generation::OpenSpeculation(const krafla_speculation* options) {
  krafla_speculation given;
  KRAFLA_RETURN_IF_ERROR(ReadOptions(options, "krafla_speculation", &given));
  constexpr auto kMost = static_cast<int64_t>(Speculator::kMost);
  if (given.max_tokens < 0 || given.max_tokens > kMost) {
    return ArgumentError("krafla_speculation: max_tokens: got {}, want 0 to {}", given.max_tokens,
                         kMost);
  }
  const Session& session = *session_->session;
  most_drafted_ = std::min(given.max_tokens > 0 ? given.max_tokens : kMost,
                           static_cast<int64_t>(session.max_draft()) - 1);
  const DraftLength length = given.always != 0 ? DraftLength::kMost : DraftLength::kWhatPays;
  switch (given.kind) {
    case KRAFLA_SPECULATE_NONE:
      return OkStatus();
    case KRAFLA_SPECULATE_LOOKUP:
      speculator_ = CreateLookupSpeculator(length);
      return OkStatus();
    case KRAFLA_SPECULATE_MODEL:
      KRAFLA_RETURN_IF_ERROR(CheckDraftModel(*session_, given.draft));
      draft_busy_ = &given.draft->busy;
      speculator_ = CreateModelSpeculator(length, *given.draft->session, *session_->session);
      return OkStatus();
    default:
      return ArgumentError("krafla_speculation: kind: got {}, want KRAFLA_SPECULATE_*", given.kind);
  }
}

Status Generation::CheckLogits() const {
  if (!session_->session->logits().empty()) return OkStatus();
  return StateError("generate: the session has no logits: append a prompt first");
}

StatusOr<bool> Generation::Step(int64_t max_us) {
  Busy busy(sampler_->busy);
  KRAFLA_RETURN_IF_ERROR(busy.status());
  std::optional<Busy> draft_busy;
  if (draft_busy_ != nullptr) KRAFLA_RETURN_IF_ERROR(draft_busy.emplace(*draft_busy_).status());
  const auto deadline = Clock::now() + AtMostAYear(max_us);
  bool worked = false;  // each slice does something, however short it is
  while (result_.finish == 0) {
    if (phase_ == Phase::kChoose) {
      KRAFLA_RETURN_IF_ERROR(Choose(session_->session->logits(), session_->session->length()));
      if (end_ != 0) Finish(end_);
      continue;
    }
    int64_t left = max_us;
    if (max_us > 0) {
      left = std::chrono::duration_cast<std::chrono::microseconds>(deadline - Clock::now()).count();
      if (left <= 0 && worked) return false;
      left = std::max<int64_t>(left, 1);
    }
    if (phase_ != Phase::kRead) {
      KRAFLA_ASSIGN_OR_RETURN(const bool drafted, Draft(left));
      if (drafted) continue;
    } else {
      KRAFLA_RETURN_IF_ERROR(Read(left));
    }
    worked = true;
    if (max_us == 0) return result_.finish != 0;
  }
  return true;
}

StatusOr<std::span<const int32_t>> Generation::ChooseNext(size_t most) {
  KRAFLA_RETURN_IF_ERROR(Choose(session_->session->logits(), session_->session->length()));
  if (end_ != 0) {
    Finish(end_);
    return std::span<const int32_t>();
  }
  KRAFLA_RETURN_IF_ERROR(AddForced(std::min(most, kMostRead)));
  return std::span<const int32_t>(chosen_);
}

StatusOr<bool> Generation::TakeRead() {
  for (const int32_t id : chosen_) KRAFLA_RETURN_IF_ERROR(Accept(id));
  phase_ = Phase::kChoose;
  if (after_ != 0) Finish(after_);
  return result_.finish != 0;
}

// The next token, from the logits that precede this position, or in end_ why there is none.
Status Generation::Choose(std::span<const float> logits, int64_t position) {
  if (options_.max_tokens > 0 && result_.n_tokens >= options_.max_tokens) {
    end_ = KRAFLA_FINISH_LENGTH;
    return OkStatus();
  }
  if (position >= session_->session->context()) {
    end_ = KRAFLA_FINISH_CONTEXT;
    return OkStatus();
  }
  if (constraint_ != nullptr && constraint_->over()) {
    end_ = KRAFLA_FINISH_COMPLETE;
    return OkStatus();
  }
  if (logits.empty()) return CheckLogits();
  KRAFLA_ASSIGN_OR_RETURN(const int32_t id, Sample(logits));
  if (speculator_ != nullptr) speculator_->Chose(id);
  if (Ends(id)) {
    result_.end_id = id;
    end_ = KRAFLA_FINISH_END;
    return OkStatus();
  }
  chosen_.clear();
  return Take(id, logits, position);
}

// A token that was chosen: its text, the host.
Status Generation::Take(int32_t id, std::span<const float> logits, int64_t position) {
  std::string_view text;
  if (text_) {
    KRAFLA_ASSIGN_OR_RETURN(text, text_->Push(id));
  }
  after_ = constraint_ != nullptr && constraint_->over() ? KRAFLA_FINISH_COMPLETE : 0;
  if (Tell(id, text, logits, position)) after_ = KRAFLA_FINISH_CALLBACK;
  if (text_ && text_->stop() >= 0) after_ = KRAFLA_FINISH_STOP;
  id_ = id;
  chosen_.push_back(id);
  phase_ = Phase::kBeginDraft;
  return OkStatus();
}

// Behind the token that was chosen: what the constraint leaves no choice about, so that it is read
// in one pass. Where it cannot be taken without logits it is left for later, and so is what goes
// wrong.
Status Generation::AddForced(size_t most) {
  if (constraint_ == nullptr || options_.logprobs != 0) return OkStatus();
  const Session& session = *session_->session;
  Sampler& sampler = *sampler_->sampler;
  const auto n_vocab = static_cast<size_t>(session.model()->config().n_vocab);
  while (after_ == 0 && chosen_.size() < most) {
    const auto n = static_cast<int64_t>(chosen_.size());
    if (options_.max_tokens > 0 && result_.n_tokens + n >= options_.max_tokens) break;
    if (session.length() + n >= session.context()) break;
    const StatusOr<int32_t> id = constraint_->Forced();
    if (!id.ok() || *id < 0) break;
    const SamplerMark before = sampler.Mark();
    if (!sampler.SampleOnly(*id, n_vocab).ok()) break;
    if (!constraint_->Accept(*id).ok()) {
      sampler.Rewind(before);
      break;
    }
    if (speculator_ != nullptr) speculator_->Chose(*id);
    KRAFLA_RETURN_IF_ERROR(Take(*id, {}, session.length() + n));
  }
  return OkStatus();
}

// Where there is a constraint it has gone on by the token.
StatusOr<int32_t> Generation::Sample(std::span<const float> logits) {
  Sampler& sampler = *sampler_->sampler;
  if (constraint_ == nullptr) return sampler.Sample(logits);
  KRAFLA_ASSIGN_OR_RETURN(const std::span<const uint32_t> allowed, constraint_->Allowed());
  const SamplerMark before = sampler.Mark();
  KRAFLA_ASSIGN_OR_RETURN(const int32_t id, sampler.Sample(logits, allowed));
  if (Ends(id)) return id;
  const Status status = constraint_->Accept(id);
  if (status.ok()) return id;
  sampler.Rewind(before);
  return status;
}

// True once the token that was chosen is being read, with a draft or without.
StatusOr<bool> Generation::Draft(int64_t max_us) {
  if (phase_ == Phase::kBeginDraft) KRAFLA_RETURN_IF_ERROR(BeginDraft());
  if (phase_ == Phase::kRead) return true;
  KRAFLA_ASSIGN_OR_RETURN(const bool done, speculator_->Step(max_us));
  if (done) KRAFLA_RETURN_IF_ERROR(BeginRead(speculator_->draft()));
  return done;
}

Status Generation::BeginDraft() {
  KRAFLA_RETURN_IF_ERROR(AddForced(kMostRead));
  if (chosen_.size() > 1) return BeginRead({});
  const Session& session = *session_->session;
  int64_t most = std::min(most_drafted_, session.context() - session.length() - 1);
  if (options_.max_tokens > 0) most = std::min(most, options_.max_tokens - result_.n_tokens - 1);
  if (speculator_ == nullptr || after_ != 0 || most <= 0) return BeginRead({});
  KRAFLA_RETURN_IF_ERROR(
      speculator_->Begin(session.ids(), id_, static_cast<size_t>(most), *sampler_->sampler));
  phase_ = Phase::kDraft;
  return OkStatus();
}

Status Generation::BeginRead(std::span<const int32_t> draft) {
  Session& session = *session_->session;
  if (constraint_ != nullptr) draft = draft.first(constraint_->Possible(draft));
  reading_[0] = id_;
  std::copy(draft.begin(), draft.end(), reading_.begin() + 1);
  n_reading_ = 1 + draft.size();
  // The session and the sampler's history stay in step: after the append nothing fails.
  sampler_->sampler->ReserveForAccept(std::max(n_reading_, chosen_.size()));
  // Where there is no room for a draft there may be for a token.
  if (n_reading_ > 1 && !session.BeginDraft({reading_.data(), n_reading_}).ok()) n_reading_ = 1;
  if (n_reading_ == 1) KRAFLA_RETURN_IF_ERROR(session.Begin(chosen_, AppendOptions{}));
  result_.drafted += static_cast<int64_t>(n_reading_) - 1;
  read_us_ = 0;
  phase_ = Phase::kRead;
  return OkStatus();
}

Status Generation::Read(int64_t max_us) {
  const auto start = Clock::now();
  KRAFLA_ASSIGN_OR_RETURN(const bool done, session_->session->Step(max_us));
  read_us_ += std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  if (!done) return OkStatus();
  phase_ = Phase::kChoose;
  if (speculator_ != nullptr && chosen_.size() == 1) speculator_->Passed(n_reading_, read_us_);
  if (n_reading_ > 1) return TakeDraft();
  for (const int32_t id : chosen_) KRAFLA_RETURN_IF_ERROR(Accept(id));
  if (after_ != 0) Finish(after_);
  return OkStatus();
}

// Chooses on from the rows of a draft for as long as it was right: with the logits, the history
// and the random numbers that reading token by token would have brought.
Status Generation::TakeDraft() {
  Session& session = *session_->session;
  const int64_t length = session.length();
  bool read = true;  // id_ is one of the rows
  {
    size_t kept = 1;
    struct Keep {
      ~Keep() { session.Keep(kept); }
      Session& session;
      const size_t& kept;
    } keep{session, kept};
    KRAFLA_RETURN_IF_ERROR(Accept(id_));
    while (read && after_ == 0 && end_ == 0) {
      KRAFLA_RETURN_IF_ERROR(
          Choose(session.draft_logits(kept - 1), length + static_cast<int64_t>(kept)));
      read = end_ == 0 && kept < n_reading_ && id_ == reading_[kept];
      if (!read) break;
      phase_ = Phase::kChoose;
      ++kept;
      ++result_.accepted;
      KRAFLA_RETURN_IF_ERROR(Accept(id_));
    }
  }
  if (end_ != 0) {
    Finish(end_);
  } else if (read && after_ != 0) {
    Finish(after_);
  }
  return OkStatus();
}

Status Generation::Accept(int32_t id) {
  KRAFLA_RETURN_IF_ERROR(sampler_->sampler->Accept(id));
  ++result_.n_tokens;
  return OkStatus();
}

void Generation::Abandon() {
  if (phase_ == Phase::kRead) session_->session->Abandon();
  if (phase_ == Phase::kDraft) speculator_->Abandon();
  phase_ = Phase::kChoose;
}

void Generation::Finish(int32_t how) {
  if (how == KRAFLA_FINISH_STOP) result_.stop = text_->stop();
  result_.finish = how;
  session_->NoteAppend(before_);
  if (!text_) return;
  const std::string_view rest = text_->Finish();
  if (!rest.empty()) Tell(-1, rest, {}, session_->session->length());
}

bool Generation::Ends(int32_t id) const {
  if (std::find(end_ids_.begin(), end_ids_.end(), id) != end_ids_.end()) return true;
  if (options_.ignore_end != 0) return false;
  const std::vector<int32_t>& own = session_->shared->end_ids;
  return std::find(own.begin(), own.end(), id) != own.end();
}

bool Generation::Tell(int32_t id, std::string_view text, std::span<const float> logits,
                      int64_t position) {
  if (options_.on_token == nullptr) return false;
  krafla_token token{};
  token.struct_size = sizeof(token);
  token.id = id;
  token.position = position;
  token.text = text.data();
  token.text_length = text.size();
  if (options_.logprobs != 0 && id >= 0) {
    const double scale = LogSumExp(logits);
    token.logprob = LogProb(logits[static_cast<size_t>(id)], scale);
    TopLogProbs(logits, scale, top_ids_, top_logprobs_);
    token.n_top = static_cast<int32_t>(top_ids_.size());
    token.top_ids = top_ids_.data();
    token.top_logprobs = top_logprobs_.data();
    Sampler& sampler = *sampler_->sampler;
    token.chain_logprob = sampler.ChosenLogProb();
    token.n_chain_top =
        static_cast<int32_t>(sampler.TopOfChain(chain_top_ids_, chain_top_logprobs_));
    token.chain_top_ids = chain_top_ids_.data();
    token.chain_top_logprobs = chain_top_logprobs_.data();
  }
  return options_.on_token(options_.user, &token) != 0;
}

}  // namespace krafla::capi

// Batches of a computation, its commit and its roll-back. Pages for all rows are taken at the
// start, so that a refusal comes before any work.
#include "lib/session/job.h"

#include <algorithm>

namespace krafla {

namespace {

// An append of so many tokens is a prompt, at whose ends texts are likely to be cut.
constexpr int64_t kPromptTokens = 8;

}  // namespace

void Job::Reserve(size_t n_parts) {
  parts_.clear();
  batch_.clear();
  parts_.reserve(n_parts);
  batch_.reserve(n_parts);
  total_ = 0;
  done_ = 0;
  in_pass_ = 0;
}

Status Job::AddPart(const Part& part) {
  KRAFLA_RETURN_IF_ERROR(part.session->state_.Prepare(part.position, part.n));
  parts_.push_back(part);
  total_ += part.n;
  return OkStatus();
}

Status Job::AddAppend(Session& session, std::span<const int32_t> ids, bool goes_on) {
  const int64_t position = session.length_;
  const auto n = static_cast<int64_t>(ids.size());
  // Without logits it is within a text.
  if (n > 1 && !(goes_on && session.logits_.empty())) {
    session.snapshots_.Keep(position, session.state_.committed(), session.logits_,
                            /*spaced=*/n < kPromptTokens);
  }
  KRAFLA_RETURN_IF_ERROR(AddPart({&session, position, n, 0, 0, goes_on}));
  session.ids_.insert(session.ids_.end(), ids.begin(), ids.end());  // within its capacity
  return OkStatus();
}

Status Job::AddAgain(Session& session, int64_t position, int64_t n) {
  return AddPart({&session, position, n});
}

void Job::Begin(Driver& driver, const AppendOptions& options) {
  driver_ = &driver;
  options_ = options;
}

// The rows of a pass, fewer where it would end at a position at which neither keys nor recurrent
// state can be cut later.
int64_t Job::EndAtAnchor(const Part& part) {
  constexpr auto kPage = static_cast<int64_t>(kPagePositions);
  const State& state = part.session->state_;
  const int64_t end = part.position + part.done + part.in_pass;
  const int64_t more = end % kPage;
  const bool wanted = state.recurrent_bytes() > 0 && state.shape().quantised();
  return wanted && part.done + part.in_pass < part.n && more < part.in_pass ? part.in_pass - more
                                                                            : part.in_pass;
}

void Job::BeginPass() {
  auto room = static_cast<int64_t>(driver_->max_rows());
  batch_.clear();
  for (Part& part : parts_) {
    part.in_pass = std::min({part.n - part.done, room, part.session->options_.batch});
    part.in_pass = EndAtAnchor(part);
    if (part.in_pass == 0) continue;
    room -= part.in_pass;
    in_pass_ += part.in_pass;
    Session& session = *part.session;
    BatchSequence sequence;
    sequence.state = &session.state_;
    sequence.position = part.position + part.done;
    sequence.tokens =
        std::span<const int32_t>(session.ids_)
            .subspan(static_cast<size_t>(sequence.position), static_cast<size_t>(part.in_pass));
    sequence.all_logits = options_.logits == WantLogits::kAll;
    sequence.all_hidden = options_.on_hidden != nullptr;
    if (options_.logits != WantLogits::kNone && !session.draft_ && !part.goes_on &&
        part.done + part.in_pass == part.n) {
      sequence.last_logits = session.logits_row(1 - session.current_);
    }
    session.state_.BeginPass(sequence.position, part.in_pass);
    batch_.push_back(sequence);
  }
  driver_->Begin(batch_);
}

void Job::EndPass() {
  for (Part& part : parts_) {
    part.done += part.in_pass;
    if (part.in_pass == 0 || part.done == part.n) continue;
    const State& state = part.session->state_;
    part.session->snapshots_.Keep(part.position + part.done, state.recurrent_in(), {},
                                  /*spaced=*/true);
  }
  done_ += in_pass_;
  in_pass_ = 0;
}

StatusOr<bool> Job::Run(const Driver::Pause& pause) {
  while (done_ < total_) {
    if (in_pass_ == 0) BeginPass();
    KRAFLA_ASSIGN_OR_RETURN(const bool pass_done, driver_->Run(*this, pause));
    if (!pass_done) return false;
    EndPass();
    if (done_ == total_) break;
    if (pause.each_item) return false;
    if (pause.deadline && Driver::Clock::now() >= *pause.deadline) return false;
  }
  return true;
}

void Job::Commit() {
  for (const Part& part : parts_) {
    Session& session = *part.session;
    session.Ended();
    if (part.n == 0) continue;
    session.length_ = part.position + part.n;
    session.ids_.resize(static_cast<size_t>(session.length_));
    session.state_.Commit();
    session.state_.Cut(session.length_);
    if (options_.logits == WantLogits::kNone || part.goes_on) {
      session.logits_ = {};
    } else {
      session.current_ = 1 - session.current_;
      session.logits_ = {session.logits_row(session.current_),
                         session.model_->network().shape().n_vocab};
    }
    session.snapshots_.Cut(session.length_);
    // A prompt's end, however short its last piece is.
    const bool prompt_end = !part.goes_on && (part.n >= kPromptTokens || session.within_);
    session.within_ = part.goes_on;
    if (part.n > 1 || prompt_end) {
      session.snapshots_.Keep(session.length_, session.state_.committed(), session.logits_,
                              /*spaced=*/!prompt_end);
    }
  }
  parts_.clear();
}

void Job::CommitFirst(int64_t n) {
  if (n == 0) return Drop();
  Part& part = parts_.front();
  Session& session = *part.session;
  if (n < part.n && session.state_.recurrent_bytes() > 0) {
    driver_->Rewind(session.state_, part.position, static_cast<size_t>(n));
  }
  part.n = n;
  const float* row = driver_->head_row(static_cast<size_t>(n - 1));
  std::copy_n(row, session.model_->network().shape().n_vocab,
              session.logits_row(1 - session.current_));
  Commit();
}

void Job::Drop() {
  for (const Part& part : parts_) {
    Session& session = *part.session;
    session.ids_.resize(static_cast<size_t>(session.length_));
    session.state_.Drop();
    session.state_.Cut(session.length_);
    session.snapshots_.Cut(session.length_);
    session.Ended();
  }
  parts_.clear();
}

Status Job::Check() {
  for (const Part& part : parts_) {
    if (part.session->cancelled() && part.session->TakeCancel()) {
      return CancelledError("cancelled after {} of {} tokens", done_, total_);
    }
  }
  if (options_.on_progress == nullptr) return OkStatus();
  const int64_t in_pass = in_pass_ * static_cast<int64_t>(driver_->stages_done()) /
                          static_cast<int64_t>(driver_->stages());
  if (options_.on_progress(options_.user, done_ + in_pass, total_) != 0) {
    return CallbackError("on_progress: stopped after {} of {} tokens", done_ + in_pass, total_);
  }
  return OkStatus();
}

Status Job::OnHidden(size_t, int64_t position, const float* row) {
  const size_t n_embd = parts_.front().session->model_->network().shape().n_embd;
  if (options_.on_hidden(options_.user, position, row, n_embd) != 0) {
    return CallbackError("on_hidden: stopped at position {}", position);
  }
  return OkStatus();
}

Status Job::OnLogits(size_t, int64_t position, const float* row) {
  if (options_.on_logits == nullptr) return OkStatus();
  const size_t n_vocab = parts_.front().session->model_->network().shape().n_vocab;
  if (options_.on_logits(options_.user, position, row, n_vocab) != 0) {
    return CallbackError("on_logits: stopped at position {}", position);
  }
  return OkStatus();
}

}  // namespace krafla

// Appending tokens: at once, in slices, and for several sessions in one pass.
#include <algorithm>

#include "lib/base/duration.h"
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

Status Session::Begin(std::span<const int32_t> ids, const AppendOptions& options) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  KRAFLA_RETURN_IF_ERROR(CheckIds(ids));
  job_->Reserve(1);
  DropGuard guard(*job_);
  KRAFLA_RETURN_IF_ERROR(job_->AddAppend(*this, ids));
  job_->Begin(*driver_, options);
  begun_ = true;
  guard.Dismiss();
  return OkStatus();
}

Status Session::BeginDraft(std::span<const int32_t> ids) {
  if (ids.empty() || ids.size() > max_draft()) {
    return ArgumentError("draft: got {} ids, want 1 to {}", ids.size(), max_draft());
  }
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  if (state_.recurrent_bytes() > 0) {
    KRAFLA_RETURN_IF_ERROR(state_.ReserveTrace(model_->network().shape().trace_bytes()));
  }
  AppendOptions options;
  options.logits = WantLogits::kAll;
  KRAFLA_RETURN_IF_ERROR(Begin(ids, options));
  draft_ = true;
  state_.Trace(state_.recurrent_bytes() > 0);
  return OkStatus();
}

size_t Session::max_draft() const { return std::min(driver_->max_rows(), kHeadRows); }

std::span<const float> Session::draft_logits(size_t i) const {
  return {driver_->head_row(i), model_->network().shape().n_vocab};
}

void Session::Keep(size_t n) { job_->CommitFirst(static_cast<int64_t>(n)); }

StatusOr<bool> Session::Step(int64_t max_us) {
  if (!begun_) return StateError("session: no append is begun");
  Driver::Pause pause;
  pause.each_item = max_us == 0;
  if (max_us > 0) {
    pause.deadline = Driver::Clock::now() + AtMostAYear(max_us);
  }
  KRAFLA_ASSIGN_OR_RETURN(const bool done, job_->Run(pause));
  if (done && !draft_) job_->Commit();
  return done;
}

void Session::Abandon() {
  if (begun_) job_->Drop();
}

Status Session::Append(std::span<const int32_t> ids, const AppendOptions& options) {
  if (ids.empty()) return CheckIdle();
  KRAFLA_RETURN_IF_ERROR(Begin(ids, options));
  DropGuard guard(*job_);
  KRAFLA_RETURN_IF_ERROR(job_->Run({}).status());
  guard.Dismiss();
  job_->Commit();
  return OkStatus();
}

Status Session::AppendBatch(std::span<Session* const> sessions,
                            std::span<const std::span<const int32_t>> ids) {
  if (sessions.size() != ids.size()) {
    return ArgumentError("append: {} sessions and {} lists of ids", sessions.size(), ids.size());
  }
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (std::find(sessions.begin(), sessions.begin() + i, sessions[i]) != sessions.begin() + i) {
      return ArgumentError("sessions[{}]: the same session twice", i);
    }
    if (sessions[i]->model_ != sessions[0]->model_) {
      return ArgumentError("sessions[{}]: of another model than sessions[0]", i);
    }
    KRAFLA_RETURN_IF_ERROR(sessions[i]->CheckIdle());
    KRAFLA_RETURN_IF_ERROR(sessions[i]->CheckIds(ids[i]));
  }
  Job job;
  job.Reserve(sessions.size());
  DropGuard guard(job);
  for (size_t i = 0; i < sessions.size(); ++i) {
    if (!ids[i].empty()) KRAFLA_RETURN_IF_ERROR(job.AddAppend(*sessions[i], ids[i]));
  }
  if (!sessions.empty()) job.Begin(*sessions[0]->driver_, {});
  KRAFLA_RETURN_IF_ERROR(job.Run({}).status());
  guard.Dismiss();
  job.Commit();
  return OkStatus();
}

}  // namespace krafla

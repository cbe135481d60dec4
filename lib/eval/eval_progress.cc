// See eval_progress.h.
#include "lib/eval/eval_progress.h"

namespace krafla {
namespace {

constexpr int64_t kStepMicroseconds = 50'000;

}  // namespace

Status EvalProgress::Report(uint64_t done) {
  done_ = done;
  if (callback_ == nullptr || callback_(user_, done, total_) == 0) return OkStatus();
  return CallbackError("measure: stopped by the progress callback");
}

Status EvalProgress::Append(Session* session, std::span<const int32_t> ids,
                            const AppendOptions& options) {
  KRAFLA_RETURN_IF_ERROR(Report(done_));
  if (ids.empty()) return OkStatus();
  KRAFLA_RETURN_IF_ERROR(session->Begin(ids, options));
  for (bool finished = false; !finished;) {
    KRAFLA_ASSIGN_OR_RETURN(finished, session->Step(kStepMicroseconds));
    const Status status = finished ? OkStatus() : Report(done_);
    if (status.ok()) continue;
    session->Abandon();
    return status;
  }
  return OkStatus();
}

}  // namespace krafla

// Truncation: back to an anchor, then the rest from the ids.
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

Status Session::Truncate(int64_t length, CutReport* report) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  if (length < 0 || length > length_) {
    return ArgumentError("truncate: got {}, want 0 to {}", length, length_);
  }
  int64_t anchor = length;
  if (length == 0) {
    ids_.clear();
    length_ = 0;
    logits_ = {};
    state_.Cut(0);
  } else if (length < length_ || logits_.empty()) {
    // Keys and values can be cut anywhere; the row before the cut is computed for its logits.
    // Recurrent state cannot be turned back: it begins again from nothing.
    anchor = model_->network().shape().recurrent_bytes == 0 ? length - 1 : 0;
    job_->Reserve(1);
    DropGuard guard(*job_);
    KRAFLA_RETURN_IF_ERROR(job_->AddAgain(*this, anchor, length - anchor));
    job_->Begin(*driver_, {});
    KRAFLA_RETURN_IF_ERROR(job_->Run({}).status());
    guard.Dismiss();
    job_->Commit();
  }
  if (report != nullptr) *report = {length, anchor, length - anchor};
  return OkStatus();
}

}  // namespace krafla

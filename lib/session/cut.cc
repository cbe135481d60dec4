// Truncation: back to an anchor, then the rest from the ids.
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

// Recurrent state cannot be turned back: it begins again from nothing.
int64_t Session::AnchorBefore(int64_t length) const {
  return state_.recurrent_bytes() == 0 ? state_.Anchor(length) : 0;
}

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
    anchor = AnchorBefore(length - 1);  // the last row is computed for its logits
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

// Truncation: back to an anchor, then the rest from the ids.
#include <algorithm>

#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

// Recurrent state cannot be turned back: it begins again from a copy, or from nothing.
Snapshots::Copy Session::AnchorBefore(int64_t length) {
  if (state_.recurrent_bytes() == 0) return {state_.Anchor(length), {}, {}};
  Snapshots::Copy copy = snapshots_.Before(length);
  while (copy.length > 0 && state_.Anchor(copy.length) != copy.length) {
    copy = snapshots_.Before(copy.length - 1);
  }
  return copy;
}

// The text up to where the copy was made, without computing anything.
void Session::BecomeCopy(const Snapshots::Copy& copy) {
  state_.Restore(copy.state);
  state_.Commit();
  state_.Cut(copy.length);
  length_ = copy.length;
  ids_.resize(static_cast<size_t>(length_));
  current_ = 1 - current_;
  float* row = logits_row(current_);
  std::copy(copy.logits.begin(), copy.logits.end(), row);
  logits_ = {row, copy.logits.size()};
  snapshots_.Cut(length_);
}

int64_t Session::CutBack(int64_t length) {
  if (length >= length_) return length_;
  const Snapshots::Copy copy = AnchorBefore(length);
  if (!copy.state.empty()) {
    state_.Restore(copy.state);
    state_.Commit();
  }
  state_.Cut(copy.length);
  length_ = copy.length;
  ids_.resize(static_cast<size_t>(length_));
  logits_ = {};
  snapshots_.Cut(length_);
  return length_;
}

Status Session::Truncate(int64_t length, CutReport* report) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  if (length < 0 || length > length_) {
    return ArgumentError("truncate: got {}, want 0 to {}", length, length_);
  }
  int64_t kept = length;
  if (length == 0) {
    ids_.clear();
    length_ = 0;
    logits_ = {};
    state_.Cut(0);
    snapshots_.Cut(0);
  } else if (const Snapshots::Copy copy = snapshots_.At(length);
             length < length_ && copy.length != 0 && state_.Anchor(length) == length) {
    BecomeCopy(copy);
  } else if (length < length_ || logits_.empty()) {
    // The last row is computed for its logits.
    const Snapshots::Copy anchor = AnchorBefore(length - 1);
    kept = anchor.length;
    job_->Reserve(1);
    DropGuard guard(*job_);
    KRAFLA_RETURN_IF_ERROR(job_->AddAgain(*this, kept, length - kept));
    if (!anchor.state.empty()) state_.Restore(anchor.state);
    job_->Begin(*driver_, {});
    KRAFLA_RETURN_IF_ERROR(job_->Run({}).status());
    guard.Dismiss();
    job_->Commit();
  }
  if (report != nullptr) *report = {length, kept, length - kept};
  return OkStatus();
}

}  // namespace krafla

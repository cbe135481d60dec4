// Forking: the same tokens and logits over shared KV pages.
#include <algorithm>
#include <utility>

#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

StatusOr<std::unique_ptr<Session>> Session::Fork(int64_t reserve) const {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  SessionOptions options = options_;
  options.reserve = reserve == -1 ? options_.context : reserve;
  if (options.reserve < 0 || options.reserve > options_.context) {
    return ArgumentError("reserve: got {}, want -1 to {}, the context", reserve, options_.context);
  }
  KRAFLA_ASSIGN_OR_RETURN(State state, state_.Fork(length_, options.reserve));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<Session> fork, Make(model_, options, nullptr));
  fork->state_ = std::move(state);
  fork->ids_.assign(ids_.begin(), ids_.begin() + length_);
  fork->length_ = length_;
  fork->snapshots_ = snapshots_;
  if (!logits_.empty()) {
    float* row = fork->logits_row(fork->current_);
    std::copy(logits_.begin(), logits_.end(), row);
    fork->logits_ = {row, logits_.size()};
  }
  return fork;
}

StatusOr<std::unique_ptr<Session>> Session::Branch(int64_t length) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  const bool whole = length >= length_;
  Snapshots::Copy anchor;
  if (!whole) anchor = AnchorBefore(length);
  const int64_t kept = whole ? length_ : anchor.length;
  KRAFLA_ASSIGN_OR_RETURN(State state, state_.Trial(kept, /*own_open=*/true));
  if (!anchor.state.empty()) {
    state.Restore(anchor.state);
    state.Commit();
  }
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<Session> branch, Make(model_, options_, driver_));
  branch->state_ = std::move(state);
  branch->ids_.assign(ids_.begin(), ids_.begin() + kept);
  branch->length_ = kept;
  branch->snapshots_ = snapshots_;
  branch->snapshots_.Cut(kept);
  if (whole && !logits_.empty()) {
    float* row = branch->logits_row(branch->current_);
    std::copy(logits_.begin(), logits_.end(), row);
    branch->logits_ = {row, logits_.size()};
  }
  return branch;
}

}  // namespace krafla

// Editing: another text, of which the session has read a part. The new rows go into a trial of the
// state that shares the common pages, so that a failure or a cancel leaves the old text.
#include <algorithm>
#include <utility>

#include "lib/session/common_prefix.h"
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {
namespace {

// Exchanges two values again at the end of a scope, unless it was told to let be.
template <typename T>
class SwapBack {
 public:
  SwapBack(T& a, T& b) : a_(a), b_(b) { std::swap(a_, b_); }
  ~SwapBack() {
    if (!kept_) std::swap(a_, b_);
  }
  SwapBack(const SwapBack&) = delete;
  SwapBack& operator=(const SwapBack&) = delete;
  void Keep() { kept_ = true; }

 private:
  T& a_;
  T& b_;
  bool kept_ = false;
};

}  // namespace

Status Session::Edit(std::span<const int32_t> ids, const AppendOptions& options,
                     CutReport* report) {
  KRAFLA_RETURN_IF_ERROR(CheckIdle());
  KRAFLA_RETURN_IF_ERROR(CheckVocabulary(ids));
  const auto n = static_cast<int64_t>(ids.size());
  if (n > options_.context) {
    return ContextError("context: {} tokens, want at most {}", n, options_.context);
  }
  const auto common = static_cast<int64_t>(CommonPrefix(this->ids(), ids));
  const bool rows = options.on_hidden != nullptr || options.logits == WantLogits::kAll;
  if (common == n && (n == 0 || !rows)) {
    return Truncate(n, report);
  }
  int64_t kept = common;
  if (common == length_) {
    KRAFLA_RETURN_IF_ERROR(Append(ids.subspan(static_cast<size_t>(common)), options));
  } else {
    const Snapshots::Copy anchor = AnchorBefore(std::min(common, n - 1));
    kept = anchor.length;
    KRAFLA_ASSIGN_OR_RETURN(State trial, state_.Trial(kept));
    if (!anchor.state.empty()) {
      trial.Restore(anchor.state);
      trial.Commit();
    }
    std::vector<int32_t> text;
    text.reserve(ids_.capacity());
    text.assign(ids.begin(), ids.begin() + kept);
    int64_t length = kept;
    Snapshots snapshots = snapshots_;
    snapshots.Cut(common);
    SwapBack<State> state(state_, trial);
    SwapBack<std::vector<int32_t>> old_ids(ids_, text);
    SwapBack<int64_t> old_length(length_, length);
    SwapBack<Snapshots> old_snapshots(snapshots_, snapshots);
    KRAFLA_RETURN_IF_ERROR(Append(ids.subspan(static_cast<size_t>(kept)), options));
    state.Keep();
    old_ids.Keep();
    old_length.Keep();
    old_snapshots.Keep();
  }
  if (report != nullptr) *report = {n, kept, n - kept};
  return OkStatus();
}

}  // namespace krafla

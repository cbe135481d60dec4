// custom: a function of the host's. What it leaves is checked, since it may be wrong: at least one
// candidate, none of them new or twice, every value a number below infinity.
#include <algorithm>
#include <limits>
#include <vector>

#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class Custom final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.custom->apply == nullptr) return OkStatus();
    const std::span<const Candidate> before = candidates->items();
    ids_.clear();
    for (const Candidate& c : before) ids_.push_back(c.id);
    std::sort(ids_.begin(), ids_.end());
    left_.assign(before.begin(), before.end());
    size_t n = left_.size();
    const int code =
        in.custom->apply(in.custom->user, left_.data(), &n, in.history.data(), in.history.size());
    if (code != 0) return CallbackError("sampler: stage custom: the host returned {}", code);
    if (n > left_.size()) {
      return ArgumentError("sampler: stage custom: {} candidates left, want at most the {} given",
                           n, left_.size());
    }
    left_.resize(n);
    KRAFLA_RETURN_IF_ERROR(Check());
    candidates->Replace(left_);
    return OkStatus();
  }

 private:
  // Brings what is left into the order of ids, without those of -inf.
  Status Check() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    for (const Candidate& c : left_) {
      if (!(c.value < kInfinity)) {
        return ArgumentError(
            "sampler: stage custom: token {}: got {}, want a number below infinity", c.id, c.value);
      }
    }
    std::sort(left_.begin(), left_.end(),
              [](const Candidate& a, const Candidate& b) { return a.id < b.id; });
    size_t at = 0;  // both are in the order of ids
    for (const Candidate& c : left_) {
      while (at < ids_.size() && ids_[at] < c.id) ++at;
      if (at == ids_.size() || ids_[at] != c.id) {
        return ArgumentError("sampler: stage custom: token {} is new or there twice", c.id);
      }
      ++at;
    }
    left_.erase(std::remove_if(left_.begin(), left_.end(),
                               [](const Candidate& c) { return c.value == -kInfinity; }),
                left_.end());
    if (!left_.empty()) return OkStatus();
    return ArgumentError("sampler: stage custom: no candidate left, want at least one");
  }

  std::vector<int32_t> ids_;
  std::vector<Candidate> left_;
};

}  // namespace

std::unique_ptr<Stage> CreateCustom() { return std::make_unique<Custom>(); }

}  // namespace krafla

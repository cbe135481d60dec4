// What all speculators share, and the one that looks things up.
#include "lib/batch/speculator.h"

#include <algorithm>

#include "lib/batch/lookup.h"

namespace krafla {

void Speculator::Chose(int32_t id) {
  if (n_judged_ == n_known_) return;
  const bool hit = ids_[n_judged_] == id;
  payoff_.Judge(classes_[n_judged_], hit);
  n_right_ += hit ? 1 : 0;
  n_judged_ = hit ? n_judged_ + 1 : n_known_;  // behind a wrong one nothing can be judged
}

namespace {

// Chances that the next token of a match of 1, 2, 3, 4, 5-6, 7-8, 9-12, 13-16 ids is right.
constexpr Payoff::Chances kLookupPrior = {0.1, 0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
constexpr uint8_t kClassOfLength[kLongestMatch + 1] = {0, 0, 1, 2, 3, 4, 4, 5, 5,
                                                       6, 6, 6, 6, 7, 7, 7, 7};

class LookupSpeculator final : public Speculator {
 public:
  explicit LookupSpeculator(DraftLength length) : Speculator(length, kLookupPrior) {}

  // Each right token makes the match that it continues one longer. Chances are learned from what
  // would have been drafted too: that costs nothing here.
  Status Begin(std::span<const int32_t> read, int32_t next, size_t most, const Sampler&) override {
    Clear();
    const Match match = FindMatch(read, next);
    if (match.length == 0) return OkStatus();
    Continue(read, next, match, ids_);
    for (size_t i = 0; i < kMost; ++i) {
      classes_[i] = kClassOfLength[std::min(match.length + i, kLongestMatch)];
    }
    n_known_ = kMost;
    most = std::min(most, kMost);
    n_draft_ = always() ? most : payoff_.Best({classes_.data(), most});
    return OkStatus();
  }
  StatusOr<bool> Step(int64_t) override { return true; }
};

}  // namespace

std::unique_ptr<Speculator> CreateLookupSpeculator(DraftLength length) {
  return std::make_unique<LookupSpeculator>(length);
}

}  // namespace krafla

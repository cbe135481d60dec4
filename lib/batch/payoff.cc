// See payoff.h. Times of a busy machine are too long at times, never too short, so the fast ones
// count most.
#include "lib/batch/payoff.h"

#include <algorithm>

namespace krafla {
namespace {

constexpr double kPriorWeight = 4;     // tokens that the prior counts for
constexpr double kMemory = 64;         // tokens of a class after which old ones begin to fade
constexpr double kUsualRowCost = 0.3;  // one thread of avx512vnni, a model of 0.5 billion weights
constexpr double kForget = 1.0 / 256;  // of a measured cost that is not measured again

}  // namespace

Payoff::Payoff(const Chances& prior) : row_cost_(kUsualRowCost) {
  for (size_t i = 0; i < kClasses; ++i) seen_[i] = {prior[i] * kPriorWeight, kPriorWeight};
}

void Payoff::Judge(size_t which, bool hit) {
  Seen& seen = seen_[which];
  if (seen.all >= kMemory) {
    seen.hits /= 2;
    seen.all /= 2;
  }
  seen.hits += hit ? 1 : 0;
  seen.all += 1;
}

double Payoff::chance(size_t which) const { return seen_[which].hits / seen_[which].all; }

void Payoff::Passed(size_t rows, double us) {
  if (rows == 1) {
    one_us_ = one_us_ == 0 || us < one_us_ ? us : one_us_ + (us - one_us_) / 16;
    row_cost_ += (kUsualRowCost - row_cost_) * kForget;
  } else if (one_us_ > 0) {
    const double cost = (us / one_us_ - 1) / static_cast<double>(rows - 1);
    row_cost_ += (std::clamp(cost, 0.01, 2.0) - row_cost_) / 4;
  }
}

void Payoff::Drafted(double us) {
  if (one_us_ == 0) return;
  const double cost = us / one_us_;
  token_cost_ += (cost - token_cost_) / (token_cost_ == 0 ? 1 : 8);
}

size_t Payoff::Best(std::span<const uint8_t> classes) const {
  size_t best = 0;
  double most = 1;  // tokens for the time of a pass of one row
  double reach = 1;
  double tokens = 1;
  for (size_t i = 0; i < classes.size(); ++i) {
    reach *= chance(classes[i]);
    tokens += reach;
    const double rate = tokens / (1 + row_cost_ * static_cast<double>(i + 1));
    if (rate <= most) continue;
    most = rate;
    best = i + 1;
  }
  return best;
}

}  // namespace krafla

// top_n_sigma: keeps the tokens whose logits are within n standard deviations (of all candidates)
// of the largest one (Tang et al. 2024): a limit that a temperature does not move. 0 keeps all.
#include <cmath>
#include <limits>

#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class TopNSigma final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] == 0) return OkStatus();
    const std::span<const Candidate> items = candidates->items();
    double n = 0, mean = 0, squares = 0;
    for (const Candidate& c : items) {
      if (c.value < kLowest) continue;
      mean += c.value;
      ++n;
    }
    mean /= n;
    for (const Candidate& c : items) {
      if (c.value >= kLowest) squares += (c.value - mean) * (c.value - mean);
    }
    candidates->KeepAtLeast(candidates->Max() - in.params[0] * std::sqrt(squares / n));
    return OkStatus();
  }

 private:
  // A small temperature before this stage makes values -inf: they say nothing.
  static constexpr double kLowest = std::numeric_limits<double>::lowest();
};

}  // namespace

std::unique_ptr<Stage> CreateTopNSigma() { return std::make_unique<TopNSigma>(); }

}  // namespace krafla

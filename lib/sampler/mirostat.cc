// mirostat: version 2 (Basu et al. 2021). Keeps the tokens whose surprise, -log2 of the
// probability, is at most mu, and at least the most likely; after the draw mu moves against the
// error: mu = mu - eta * (surprise of the token drawn, among those kept - tau). It begins at 2 tau.
// The last stage of its chain, in place of other truncation.
#include <algorithm>
#include <limits>

#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

constexpr double kLog2 = 0.693147180559945309417232121458176568;

class Mirostat final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    double& mu = in.state->mirostat_mu;
    if (mu == -std::numeric_limits<double>::infinity()) mu = 2 * in.params[0];
    const double max = candidates->Max();
    double total = 0;
    for (const Candidate& c : candidates->items()) total += Exp(c.value - max);
    candidates->KeepAtLeast(std::min(max, max + Log(total) - mu * kLog2));
    return OkStatus();
  }

  void Drawn(const StageInput& in, double probability) override {
    const double surprise = -Log(probability) / kLog2;
    in.state->mirostat_mu -= in.params[1] * (surprise - in.params[0]);
  }
};

}  // namespace

std::unique_ptr<Stage> CreateMirostat() { return std::make_unique<Mirostat>(); }

}  // namespace krafla

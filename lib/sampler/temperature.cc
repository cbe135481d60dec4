// temperature: divides values by t; 0 keeps the best candidate alone (greedy, the lower id among
// equals). Differences from the largest value are divided rather than the values themselves, so
// that no t, however small, makes the largest infinite.
//
// With a range the temperature is dynamic: between max(0, t - range) and t + range, at the share
// (entropy / largest possible entropy) ^ exponent of the way, so that a model which is sure stays
// cool and one which is not is given more choice.
#include <algorithm>

#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

double DynamicTemperature(double t, double range, double exponent, Candidates* candidates) {
  const std::span<Candidate> items = candidates->items();
  const double lowest = std::max(0.0, t - range);
  if (items.size() == 1) return lowest;
  const double max = candidates->Max();
  // H = log sum e^x - sum x e^x / sum e^x, with x = value - max
  double sum = 0, weighted = 0;
  for (const Candidate& c : items) {
    const double weight = Exp(c.value - max);
    sum += weight;
    weighted += weight * (c.value - max);
  }
  const double entropy = Log(sum) - weighted / sum;
  const double share = std::clamp(entropy / Log(static_cast<double>(items.size())), 0.0, 1.0);
  return lowest + (t + range - lowest) * Pow(share, exponent);
}

class Temperature final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    double t = in.params[0];
    if (in.params[1] > 0) t = DynamicTemperature(t, in.params[1], in.params[2], candidates);
    if (t == 0) {
      candidates->KeepBest(1);
      return OkStatus();
    }
    const double max = candidates->Max();
    for (Candidate& c : candidates->items()) c.value = (c.value - max) / t;
    candidates->ValuesChanged();
    return OkStatus();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateTemperature() { return std::make_unique<Temperature>(); }

}  // namespace krafla

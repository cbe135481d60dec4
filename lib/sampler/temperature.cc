// temperature: divides values by t; 0 keeps the best candidate alone (greedy, the lower id among
// equals). Differences from the largest value are divided rather than the values themselves, so
// that no t, however small, makes the largest infinite.
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class Temperature final : public Stage {
 public:
  void Apply(std::span<const double> params, std::span<const int32_t>,
             Candidates* candidates) override {
    if (params[0] == 0) return candidates->KeepBest(1);
    const double max = candidates->Max();
    for (Candidate& c : candidates->items()) c.value = (c.value - max) / params[0];
    candidates->ValuesChanged();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateTemperature() { return std::make_unique<Temperature>(); }

}  // namespace krafla

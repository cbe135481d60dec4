// top_p: keeps the smallest set of most likely tokens whose probability, among the candidates, is
// at least p (nucleus sampling, Holtzman et al. 2019). 1 keeps all.
#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class TopP final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] == 1) return OkStatus();
    const double max = candidates->Max();
    double total = 0;
    for (const Candidate& c : candidates->items()) total += Exp(c.value - max);
    const double wanted = in.params[0] * total;
    double sum = 0;
    candidates->KeepThrough([&sum, max, wanted](const Candidate& c) {
      sum += Exp(c.value - max);
      return sum >= wanted;
    });
    return OkStatus();
  }
};

}  // namespace

std::unique_ptr<Stage> CreateTopP() { return std::make_unique<TopP>(); }

}  // namespace krafla

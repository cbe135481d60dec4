// typical: keeps the smallest set of tokens of probability p, among the candidates, whose surprise
// is nearest to the expected one, the entropy (Meister et al. 2022): the likeliest token may go. 1
// keeps all.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class Typical final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.params[0] == 1) return OkStatus();
    const std::span<const Candidate> items = candidates->items();
    const double max = candidates->Max();
    double total = 0, weighted = 0;
    for (const Candidate& c : items) {
      const double weight = Exp(c.value - max);
      total += weight;
      if (weight > 0) weighted += weight * (c.value - max);
    }
    // The surprise of a value is log(total) - (value - max), the entropy its mean: of their
    // difference log(total) goes.
    const double expected = weighted / total;
    ranked_.clear();
    for (size_t i = 0; i < items.size(); ++i) {
      const double distance = items[i].value - max - expected;
      ranked_.push_back({distance < 0 ? -distance : distance, i});
    }
    // A heap, since few of many are needed mostly.
    std::make_heap(ranked_.begin(), ranked_.end(), std::greater<>());
    kept_.assign(items.size(), 0);
    double sum = 0;
    while (sum < in.params[0] * total && !ranked_.empty()) {
      const size_t i = ranked_.front().second;
      kept_[i] = 1;
      sum += Exp(items[i].value - max);
      std::pop_heap(ranked_.begin(), ranked_.end(), std::greater<>());
      ranked_.pop_back();
    }
    candidates->KeepIf([this](size_t i) { return kept_[i] != 0; });
    return OkStatus();
  }

 private:
  std::vector<std::pair<double, size_t>> ranked_;  // distance, index: no two are equal
  std::vector<uint8_t> kept_;
};

}  // namespace

std::unique_ptr<Stage> CreateTypical() { return std::make_unique<Typical>(); }

}  // namespace krafla

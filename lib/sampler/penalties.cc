// penalties: makes tokens of the last `last_n` accepted ones less likely. For a token seen c > 0
// times
//   value = value > 0 ? value / repeat : value * repeat        (Keskar et al. 2019, CTRL)
//   value = value - c * frequency - presence                   (as the OpenAI API defines them)
// Parameters: repeat (1: none), frequency, presence, last_n (0: none, -1: the whole history).
#include <vector>

#include "lib/sampler/stage.h"

namespace krafla {
namespace {

// Far above any logit, so that a tiny `repeat` cannot make a value infinite.
constexpr double kLargest = 1e300;

class Penalties final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    const double repeat = in.params[0], frequency = in.params[1], presence = in.params[2];
    if (repeat == 1 && frequency == 0 && presence == 0) return OkStatus();
    const std::span<const int32_t> history = LastOf(in.history, in.params[3]);
    if (history.empty()) return OkStatus();

    const size_t vocab_size = candidates->vocab_size();
    if (counts_.size() < vocab_size) counts_.resize(vocab_size, 0);
    const std::span<Candidate> items = candidates->items();
    // Ids beyond this vocabulary may have been accepted; no candidate has them.
    for (const int32_t id : history) {
      if (static_cast<size_t>(id) < vocab_size) ++counts_[static_cast<size_t>(id)];
    }
    for (Candidate& c : items) {
      const uint32_t count = counts_[static_cast<size_t>(c.id)];
      if (count == 0) continue;
      double value = c.value > 0 ? c.value / repeat : c.value * repeat;
      value = value > kLargest ? kLargest : value;
      c.value = value - count * frequency - presence;
    }
    for (const int32_t id : history) {
      if (static_cast<size_t>(id) < vocab_size) counts_[static_cast<size_t>(id)] = 0;
    }
    candidates->ValuesChanged();
    return OkStatus();
  }

 private:
  std::vector<uint32_t> counts_;  // by id; all zero between calls
};

}  // namespace

std::unique_ptr<Stage> CreatePenalties() { return std::make_unique<Penalties>(); }

}  // namespace krafla

// logit_bias: adds what the host set for single tokens to their logits; -inf bans a token. Without
// biases no effect. Biases of tokens that the vocabulary does not have say nothing.
#include <limits>
#include <vector>

#include "lib/sampler/stage.h"

namespace krafla {
namespace {

class LogitBias final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    if (in.biases.empty()) return OkStatus();
    const size_t vocab_size = candidates->vocab_size();
    if (by_id_.size() < vocab_size) by_id_.resize(vocab_size, 0);
    const std::span<Candidate> items = candidates->items();
    for (const TokenBias& b : in.biases) {
      if (static_cast<size_t>(b.id) < vocab_size) by_id_[static_cast<size_t>(b.id)] = b.bias;
    }
    for (Candidate& c : items) c.value += by_id_[static_cast<size_t>(c.id)];
    for (const TokenBias& b : in.biases) {
      if (static_cast<size_t>(b.id) < vocab_size) by_id_[static_cast<size_t>(b.id)] = 0;
    }
    candidates->ValuesChanged();
    if (candidates->Max() == -std::numeric_limits<double>::infinity()) {
      return ArgumentError("sampler: stage logit_bias: bans each of {} tokens that are possible",
                           items.size());
    }
    candidates->KeepAtLeast(std::numeric_limits<double>::lowest());
    return OkStatus();
  }

 private:
  std::vector<double> by_id_;  // all zero between calls
};

}  // namespace

std::unique_ptr<Stage> CreateLogitBias() { return std::make_unique<LogitBias>(); }

}  // namespace krafla

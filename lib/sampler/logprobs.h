// Log-probabilities of logits: log softmax in double, in ascending order, without libm, so that
// they too are the same bits everywhere. Logits may be -inf, not all of them; NaN and +inf are the
// caller's to refuse (CheckLogits).
#ifndef KRAFLA_LIB_SAMPLER_LOGPROBS_H_
#define KRAFLA_LIB_SAMPLER_LOGPROBS_H_

#include <cstdint>
#include <span>

#include "lib/base/status.h"

namespace krafla {

Status CheckLogits(std::span<const float> logits);
double LogSumExp(std::span<const float> logits);
inline float LogProb(float logit, double log_sum_exp) {
  return static_cast<float>(static_cast<double>(logit) - log_sum_exp);
}
// Keeps the best of what it is shown, best first, ties to what came first.
class TopList {
 public:
  // As long as each other.
  TopList(std::span<int32_t> ids, std::span<float> values) : ids_(ids), values_(values) {}
  void Show(int32_t id, float value);
  size_t size() const { return n_; }

 private:
  std::span<int32_t> ids_;
  std::span<float> values_;
  size_t n_ = 0;
};

// The ids.size() most probable, best first, ties to the lower id.
void TopLogProbs(std::span<const float> logits, double log_sum_exp, std::span<int32_t> ids,
                 std::span<float> logprobs);

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_LOGPROBS_H_

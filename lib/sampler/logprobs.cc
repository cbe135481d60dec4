// See logprobs.h.
#include "lib/sampler/logprobs.h"

#include <algorithm>
#include <limits>

#include "lib/base/math.h"

namespace krafla {

Status CheckLogits(std::span<const float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  bool finite = false;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < kInfinity)) {
      return ArgumentError("logits[{}]: got {}, want a number below infinity", i, logits[i]);
    }
    finite |= logits[i] > -kInfinity;
  }
  if (!finite) return ArgumentError("logits: got {} and none above -inf", logits.size());
  return OkStatus();
}

double LogSumExp(std::span<const float> logits) {
  const double max = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += Exp(static_cast<double>(logit) - max);
  return max + Log(sum);
}

// Inserts into a sorted list: few values are better than the worst of it.
void TopList::Show(int32_t id, float value) {
  const size_t k = ids_.size();
  if (k == 0 || (n_ == k && !(value > values_[k - 1]))) return;
  size_t at = n_ < k ? n_++ : k - 1;
  for (; at > 0 && value > values_[at - 1]; --at) {
    values_[at] = values_[at - 1];
    ids_[at] = ids_[at - 1];
  }
  values_[at] = value;
  ids_[at] = id;
}

void TopLogProbs(std::span<const float> logits, double log_sum_exp, std::span<int32_t> ids,
                 std::span<float> logprobs) {
  TopList top(ids, logprobs);
  for (size_t i = 0; i < logits.size(); ++i) top.Show(static_cast<int32_t>(i), logits[i]);
  for (float& value : logprobs) value = LogProb(value, log_sum_exp);
}

}  // namespace krafla

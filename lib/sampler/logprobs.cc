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

// Inserts into a sorted list: few logits are better than the worst of it.
void TopLogProbs(std::span<const float> logits, double log_sum_exp, std::span<int32_t> ids,
                 std::span<float> logprobs) {
  const size_t k = ids.size();
  if (k == 0) return;
  size_t n = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (n == k && !(logits[i] > logprobs[k - 1])) continue;
    size_t at = n < k ? n++ : k - 1;
    for (; at > 0 && logits[i] > logprobs[at - 1]; --at) {
      logprobs[at] = logprobs[at - 1];
      ids[at] = ids[at - 1];
    }
    logprobs[at] = logits[i];
    ids[at] = static_cast<int32_t>(i);
  }
  for (float& value : logprobs) value = LogProb(value, log_sum_exp);
}

}  // namespace krafla

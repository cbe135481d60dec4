// See router_guess.h.
#include "lib/model/router_guess.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace krafla {

void RouterGuess::Choose(const float* x, std::vector<float>* scratch,
                         std::vector<uint32_t>* experts) const {
  const size_t n = router_.rows;
  scratch->resize(router_.padded_rows() + norm_.size);
  float* scores = scratch->data();
  float* normed = scores + router_.padded_rows();
  kernels::rms_norm(x, norm_.data, norm_.size, eps_, normed);
  Multiply(router_, 0, router_.n_tiles(), {normed, norm_.size, nullptr}, 1, scores,
           router_.padded_rows());
  if (bias_.size != 0) kernels::add(bias_.data, n, scores);
  for (size_t rank = 0; rank < n_used_; ++rank) {
    const auto best = static_cast<uint32_t>(std::max_element(scores, scores + n) - scores);
    scores[best] = -__builtin_inff();
    if (std::find(experts->begin(), experts->end(), best) == experts->end()) {
      experts->push_back(best);
    }
  }
}

}  // namespace krafla

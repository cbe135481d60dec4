// min_p: its distribution and its ends.
#include <algorithm>
#include <set>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("min_p draws from those at least p times as likely as the best") {
  const std::vector<double> probabilities = Softmax(kLogits);
  const double best = *std::max_element(probabilities.begin(), probabilities.end());
  for (const double p : {0.0, 0.001, 0.05, 0.2, 0.5}) {
    INFO(p);
    std::vector<bool> keep;
    for (const double x : probabilities) keep.push_back(x >= p * best);
    const SamplerParam params[] = {{"p", p}};
    const auto sampler = SamplerOf("min_p", params);
    CheckDraws(sampler.get(), kLogits, Restrict(probabilities, keep));
  }
}

TEST_CASE("min_p 1 keeps the best and its equals") {
  const float logits[] = {1, 3, 2, 3, 2.9999998f};
  const SamplerParam params[] = {{"p", 1}};
  const auto sampler = SamplerOf("min_p", params);
  std::set<int32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(*sampler->Sample(logits));
  CHECK(seen == std::set<int32_t>{1, 3});
}

}  // namespace
}  // namespace krafla

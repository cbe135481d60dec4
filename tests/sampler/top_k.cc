// top_k: its distribution, its off values, and which tokens it takes among equals.
#include <limits>
#include <set>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("top_k draws from the k most likely") {
  const std::vector<double> p = Softmax(kLogits);
  const std::vector<size_t> ranked = Ranked(p);
  for (const int k : {1, 2, 5, 11}) {
    INFO(k);
    std::vector<bool> keep(p.size(), false);
    for (int i = 0; i < k; ++i) keep[ranked[static_cast<size_t>(i)]] = true;
    const SamplerParam params[] = {{"k", static_cast<double>(k)}};
    const auto sampler = SamplerOf("top_k", params);
    CheckDraws(sampler.get(), kLogits, Restrict(p, keep));
  }
}

TEST_CASE("0, -1 and a k above the vocabulary keep all") {
  for (const double k : {0.0, -1.0, 12.0, 9999999.0, 2147483647.0}) {
    INFO(k);
    const SamplerParam params[] = {{"k", k}};
    const auto sampler = SamplerOf("top_k", params);
    CheckDraws(sampler.get(), kLogits, Softmax(kLogits));
  }
}

TEST_CASE("-inf logits count neither as candidates nor as draws") {
  const float inf = std::numeric_limits<float>::infinity();
  const float logits[] = {-inf, 1, -inf, 0, -inf};
  const SamplerParam params[] = {{"k", 4}};
  const auto sampler = SamplerOf("top_k", params);
  CheckDraws(sampler.get(), logits, Softmax(logits));
}

TEST_CASE("ties at the edge go to the lower ids") {
  const float logits[] = {0, 1, 1, 1, 1, 2};
  const SamplerParam params[] = {{"k", 3}};
  const auto sampler = SamplerOf("top_k", params);
  std::set<int32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(*sampler->Sample(logits));
  CHECK(seen == std::set<int32_t>{1, 2, 5});
}

}  // namespace
}  // namespace krafla

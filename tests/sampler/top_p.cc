// top_p: its distribution, the token that crosses p, and a vocabulary that needs several pieces
// sorted.
#include <set>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("top_p draws from the smallest set that holds p") {
  const std::vector<double> probabilities = Softmax(kLogits);
  const std::vector<size_t> ranked = Ranked(probabilities);
  for (const double p : {1e-9, 0.3, 0.5, 0.9, 0.999, 1.0}) {
    INFO(p);
    std::vector<bool> keep(probabilities.size(), false);
    double sum = 0;
    for (const size_t id : ranked) {
      if (p < 1 && sum >= p) break;
      keep[id] = true;
      sum += probabilities[id];
    }
    const SamplerParam params[] = {{"p", p}};
    const auto sampler = SamplerOf("top_p", params);
    CheckDraws(sampler.get(), kLogits, Restrict(probabilities, keep));
  }
}

TEST_CASE("a set that holds exactly p is enough") {
  const float logits[] = {0, 0, 0, 0};
  const SamplerParam params[] = {{"p", 0.5}};
  const auto sampler = SamplerOf("top_p", params);
  std::set<int32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(*sampler->Sample(logits));
  CHECK(seen == std::set<int32_t>{0, 1});
}

TEST_CASE("a large flat vocabulary") {
  // 700 tokens, of which 0.8 of the mass takes the better part: two further pieces to sort.
  std::vector<float> logits(700);
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = static_cast<float>((i * 2654435761u) % 1000) / 1000.f;
  }
  const std::vector<double> probabilities = Softmax(logits);
  std::set<int32_t> allowed;
  double sum = 0;
  for (const size_t id : Ranked(probabilities)) {
    allowed.insert(static_cast<int32_t>(id));
    sum += probabilities[id];
    if (sum >= 0.8) break;
  }
  const SamplerParam params[] = {{"p", 0.8}};
  const auto sampler = SamplerOf("top_p", params);
  std::set<int32_t> seen;
  for (int i = 0; i < 10000; ++i) seen.insert(*sampler->Sample(logits));
  CHECK(seen == allowed);
}

}  // namespace
}  // namespace krafla

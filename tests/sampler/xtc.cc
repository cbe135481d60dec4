// xtc: a mixture of the whole distribution and of one without the top choices.
#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::vector<double> Mixture(std::span<const float> logits, double probability, double threshold) {
  const reference::Values values = reference::Of(logits);
  std::vector<double> whole = reference::Probabilities(values);
  const std::vector<double> cut = reference::Probabilities(reference::Xtc(values, threshold));
  for (size_t i = 0; i < whole.size(); ++i) {
    whole[i] = (1 - probability) * whole[i] + probability * cut[i];
  }
  return whole;
}

TEST_CASE("xtc draws from its exact distribution") {
  for (const double probability : {0.25, 0.5, 1.0}) {
    for (const double threshold : {0.0, 0.05, 0.12}) {
      INFO(probability << " " << threshold);
      const SamplerParam params[] = {{"probability", probability}, {"threshold", threshold}};
      CheckDraws(SamplerOf("xtc", params).get(), kLogits, Mixture(kLogits, probability, threshold));
    }
  }
}

TEST_CASE("xtc leaves a single top choice, one candidate, and all where it is off") {
  const SamplerParam above[] = {{"probability", 1}, {"threshold", 0.9}},
                     never[] = {{"probability", 0}, {"threshold", 0}},
                     always[] = {{"probability", 1}, {"threshold", 0}};
  CheckDraws(SamplerOf("xtc", above).get(), kLogits, Softmax(kLogits));
  CheckDraws(SamplerOf("xtc", never).get(), kLogits, Softmax(kLogits));
  const float one[] = {3}, equal[] = {1, 1, 1};
  CheckDraws(SamplerOf("xtc", always).get(), one, {1});
  CheckDraws(SamplerOf("xtc", always).get(), equal, {0, 0, 1});  // of equals the highest id stays
}

}  // namespace
}  // namespace krafla

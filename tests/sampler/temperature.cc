// temperature: the shape it gives, greedy at 0, and both ends of its range.
#include <algorithm>
#include <limits>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("temperature draws from softmax(logits / t)") {
  for (const double t : {0.3, 1.0, 2.5}) {
    INFO(t);
    const SamplerParam params[] = {{"t", t}};
    const auto sampler = SamplerOf("temperature", params);
    CheckDraws(sampler.get(), kLogits, Softmax(kLogits, t));
  }
}

TEST_CASE("temperature 0 is greedy, with ties to the lower id") {
  const SamplerParam params[] = {{"t", 0}};
  const auto sampler = SamplerOf("temperature", params);
  CHECK(*sampler->Sample(kLogits) == 7);
  const float ties[] = {-1.f, 2.f, 0.f, 2.f, 2.f};
  CHECK(*sampler->Sample(ties) == 1);
  const float zeros[] = {-1.f, -0.f, 0.f};
  CHECK(*sampler->Sample(zeros) == 1);
}

TEST_CASE("temperature 1e6 is flat and finite") {
  const SamplerParam params[] = {{"t", 1e6}};
  auto sampler = SamplerOf("temperature", params);
  CheckDraws(sampler.get(), kLogits, std::vector<double>(std::size(kLogits), 1.0 / 12));

  // With truncation before it, only what truncation kept is flattened.
  sampler = *Sampler::Create(3);
  REQUIRE(sampler->AddDefaultStages().ok());
  REQUIRE(sampler->SetParam("top_k", "k", 3).ok());
  REQUIRE(sampler->SetParam("min_p", "p", 0.05).ok());
  REQUIRE(sampler->SetParam("temperature", "t", 1e6).ok());
  std::vector<double> expected(std::size(kLogits), 0.0);
  expected[7] = expected[1] = expected[4] = 1.0 / 3;
  CheckDraws(sampler.get(), kLogits, expected);
}

TEST_CASE("the smallest temperature and the largest logits stay finite") {
  const float extreme[] = {std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max(),
                           0, std::numeric_limits<float>::max()};
  for (const double t : {std::numeric_limits<double>::denorm_min(), 1e-300, 1.0, 1e6}) {
    INFO(t);
    const SamplerParam params[] = {{"t", t}};
    const auto sampler = SamplerOf("temperature", params);
    int first = 0;
    for (int i = 0; i < 1000; ++i) {
      const int32_t id = *sampler->Sample(extreme);
      if (id != 1 && id != 3) FAIL("id " << id);
      first += id == 1;
    }
    CHECK(std::clamp(first, 400, 600) == first);
  }
}

}  // namespace
}  // namespace krafla

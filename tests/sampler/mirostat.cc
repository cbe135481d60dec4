// mirostat 2: the distribution for a fixed mu, and the walk of mu.
#include <cmath>

#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::unique_ptr<Sampler> Mirostat(double tau, double eta) {
  auto sampler = *Sampler::Create(3);
  const SamplerParam params[] = {{"tau", tau}, {"eta", eta}};
  REQUIRE(sampler->AddStage("mirostat", params).ok());  // it draws without a temperature
  return sampler;
}

TEST_CASE("mirostat draws from its exact distribution while mu stands") {
  for (const double tau : {0.2, 1.0, 1.5, 3.0}) {
    INFO(tau);
    CheckDraws(Mirostat(tau, 0).get(), kLogits,
               reference::Probabilities(reference::Mirostat(reference::Of(kLogits), 2 * tau)));
  }
}

TEST_CASE("mu follows the surprise of what is drawn") {
  const auto sampler = Mirostat(1.2, 0.3);
  double mu = 2 * 1.2;
  double surprises = 0;
  for (int i = 0; i < 5000; ++i) {
    // A new distribution each time.
    std::vector<float> logits(kLogits, kLogits + std::size(kLogits));
    logits[static_cast<size_t>(i) % 12] += static_cast<float>(i % 5) - 2;
    const auto left = reference::Probabilities(reference::Mirostat(reference::Of(logits), mu));
    const auto id = static_cast<size_t>(*sampler->Sample(logits));
    REQUIRE(left[id] > 0);
    CHECK(sampler->ChosenLogProb() == Approx(std::log(left[id])).margin(1e-6));
    mu -= 0.3 * (-std::log2(left[id]) - 1.2);
    surprises -= std::log2(left[id]);
    CHECK(sampler->Mark().state.mirostat_mu == Approx(mu).margin(1e-9));
  }
  CHECK(surprises / 5000 == Approx(1.2).margin(0.01));
}

TEST_CASE("mirostat keeps the best whatever mu is, and greedy stays greedy") {
  const auto sampler = Mirostat(1e-6, 1);
  for (int i = 0; i < 50; ++i) CHECK(*sampler->Sample(kLogits) == 7);
  auto greedy = *Sampler::Create(3);
  REQUIRE(greedy->AddDefaultStages().ok());
  REQUIRE(greedy->AddStage("mirostat").ok());
  for (int i = 0; i < 50; ++i) CHECK(*greedy->Sample(kLogits) == 7);
}

TEST_CASE("mu goes back with a rewind, a reset, and is a clone's own") {
  const auto sampler = Mirostat(1.5, 0.2);
  const auto draw = [](Sampler* s) {
    std::vector<int32_t> ids;
    for (int i = 0; i < 100; ++i) {
      ids.push_back(*s->Sample(kLogits));
      REQUIRE(s->Accept(ids.back()).ok());
    }
    return ids;
  };
  const std::vector<int32_t> first = draw(sampler.get());
  const SamplerMark mark = sampler->Mark();
  const auto clone = sampler->Clone();
  const std::vector<int32_t> second = draw(sampler.get());
  sampler->Rewind(mark);
  CHECK(draw(sampler.get()) == second);
  CHECK(draw(clone.get()) == second);
  sampler->Reset();
  CHECK(draw(sampler.get()) == first);
}

}  // namespace
}  // namespace krafla

// top_n_sigma: the kept set against its definition.
#include <limits>

#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("top_n_sigma draws from its exact distribution") {
  for (const double n : {0.25, 0.8, 1.5, 3.0}) {
    INFO(n);
    const SamplerParam params[] = {{"n", n}};
    CheckDraws(SamplerOf("top_n_sigma", params).get(), kLogits,
               reference::Probabilities(reference::TopNSigma(reference::Of(kLogits), n)));
  }
}

TEST_CASE("top_n_sigma does not count what is impossible, and never drops all") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const SamplerParam one[] = {{"n", 1}}, tiny[] = {{"n", 1e-300}}, off[] = {{"n", 0}};
  const float masked[] = {-kInf, 3, -kInf, 2.5f, -1};
  // mean 1.5, deviation 1.78: the limit is 1.22.
  CheckDraws(SamplerOf("top_n_sigma", one).get(), masked,
             Restrict(Softmax(masked), {false, true, false, true, false}));
  const float equal[] = {7, 7, 7};
  CheckDraws(SamplerOf("top_n_sigma", tiny).get(), equal, Softmax(equal));
  CheckDraws(SamplerOf("top_n_sigma", tiny).get(), kLogits,
             Restrict(Softmax(kLogits), std::vector<bool>{0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}));
  CheckDraws(SamplerOf("top_n_sigma", off).get(), kLogits, Softmax(kLogits));
  const float huge[] = {-3e38f, 3e38f};
  CHECK(*SamplerOf("top_n_sigma", tiny)->Sample(huge) == 1);
}

TEST_CASE("top_n_sigma behind a temperature that made values infinite") {
  auto sampler = *Sampler::Create(1);
  const SamplerParam t[] = {{"t", 1e-320}}, n[] = {{"n", 1}};
  REQUIRE(sampler->AddStage("temperature", t).ok());
  REQUIRE(sampler->AddStage("top_n_sigma", n).ok());
  CheckDraws(sampler.get(), kLogits, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0});
}

}  // namespace
}  // namespace krafla

// typical: the kept set against its definition, over the whole range of p.
#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("typical draws from its exact distribution") {
  for (const double p : {0.05, 0.3, 0.7, 0.95}) {
    INFO(p);
    const SamplerParam params[] = {{"p", p}};
    const auto sampler = SamplerOf("typical", params);
    CheckDraws(sampler.get(), kLogits,
               reference::Probabilities(reference::Typical(reference::Of(kLogits), p)));
  }
}

TEST_CASE("typical may drop the likeliest token") {
  // Entropy 1.2: the token of 0.3 is nearer to it than the one of 0.5.
  const float logits[] = {-0.693147f, -1.203973f, -2.302585f, -2.302585f};
  const SamplerParam params[] = {{"p", 0.2}};
  CheckDraws(SamplerOf("typical", params).get(), logits, {0, 1, 0, 0});
}

TEST_CASE("typical keeps all at 1, and one at least of equals and of one") {
  const float equal[] = {2, 2, 2, 2}, one[] = {-1e30f};
  const SamplerParam all[] = {{"p", 1}}, few[] = {{"p", 1e-300}};
  CheckDraws(SamplerOf("typical", all).get(), kLogits, Softmax(kLogits));
  CheckDraws(SamplerOf("typical", few).get(), equal, {1, 0, 0, 0});  // ties: the lower id
  CheckDraws(SamplerOf("typical", few).get(), one, {1});
}

}  // namespace
}  // namespace krafla

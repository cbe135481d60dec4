// A mask is the same as -inf in the place of the logits that it leaves out, for every stage, and it
// comes before all of them.
#include <limits>
#include <random>

#include "lib/sampler/sampler.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::unique_ptr<Sampler>> Samplers() {
  std::vector<std::unique_ptr<Sampler>> all;
  all.push_back(*Sampler::Create(3));
  for (const StageInfo& info : AllStages()) {
    auto sampler = *Sampler::Create(3);
    REQUIRE(sampler->AddStage(info.name).ok());
    if (info.name == "top_k") REQUIRE(sampler->SetParam("top_k", "k", 3).ok());
    if (info.name == "top_p") REQUIRE(sampler->SetParam("top_p", "p", 0.6).ok());
    if (info.name == "min_p") REQUIRE(sampler->SetParam("min_p", "p", 0.2).ok());
    if (info.name != "temperature" && !info.draws) {
      const SamplerParam t[] = {{"t", 1.2}};
      REQUIRE(sampler->AddStage("temperature", t).ok());
    }
    all.push_back(std::move(sampler));
  }
  return all;
}

}  // namespace

TEST_CASE("a mask is as -inf in the logits") {
  std::mt19937 random(7);
  for (const auto& sampler : Samplers()) {
    const auto other = sampler->Clone();
    for (int i = 0; i < 200; ++i) {
      const size_t n = 1 + random() % 100;
      std::vector<float> logits(n), cut(n, -kInf);
      std::vector<uint32_t> mask(random() % ((n + 31) / 32 + 2) + 1, 0);
      for (float& x : logits) x = static_cast<float>(random() % 1000) / 100.0F;
      if (random() % 4 == 0) logits[random() % n] = -kInf;
      const unsigned rare = i % 2 == 0 ? 3 : 40;
      size_t allowed = 0;
      for (size_t id = 0; id < mask.size() * 32; ++id) {
        if (random() % rare != 0) continue;
        mask[id / 32] |= 1u << (id % 32);
        if (id >= n) continue;
        cut[id] = logits[id];
        allowed += logits[id] > -kInf ? 1 : 0;
      }
      const SamplerMark before = sampler->Mark();
      const auto id = sampler->Sample(logits, mask);
      const auto expected = other->Sample(cut);
      REQUIRE(id.ok() == expected.ok());
      REQUIRE(id.ok() == (allowed > 0));
      if (!id.ok()) continue;
      REQUIRE(*id == *expected);
      REQUIRE(sampler->ChosenLogProb() == other->ChosenLogProb());
      int32_t ids[4], other_ids[4];
      float top[4], other_top[4];
      const size_t k = sampler->TopOfChain(ids, top);
      REQUIRE(k == other->TopOfChain(other_ids, other_top));
      for (size_t j = 0; j < k; ++j) {
        REQUIRE(ids[j] == other_ids[j]);
        REQUIRE(top[j] == other_top[j]);
      }
      // Back to before it, the same is drawn again.
      sampler->Rewind(before);
      REQUIRE(*sampler->Sample(logits, mask) == *expected);
      // One that is left alone is sampled without logits, to the same state.
      if (allowed == 1) {
        const auto third = sampler->Clone();
        third->Rewind(before);
        REQUIRE(third->SampleOnly(*id, n).ok());
        REQUIRE(third->ChosenLogProb() == sampler->ChosenLogProb());
        REQUIRE(third->Mark().random.n == sampler->Mark().random.n);
        REQUIRE(third->Mark().state.mirostat_mu == sampler->Mark().state.mirostat_mu);
      }
      REQUIRE(sampler->Accept(*id).ok());
      REQUIRE(other->Accept(*id).ok());
    }
  }
}

TEST_CASE("a mask without a possible token is refused and changes nothing") {
  auto sampler = *Sampler::Create(1);
  REQUIRE(sampler->AddStage("temperature").ok());
  const float logits[] = {1, -kInf, 3};
  const uint32_t second[] = {2}, beyond[] = {0, 1}, third[] = {4};
  CHECK_FALSE(sampler->Sample(logits, second).ok());
  CHECK_FALSE(sampler->Sample(logits, beyond).ok());
  CHECK_FALSE(sampler->Sample(logits, std::span<const uint32_t>()).ok());
  CHECK(*sampler->Sample(logits, third) == 2);
  // What a mask leaves out must be a number all the same.
  const float bad[] = {1, std::numeric_limits<float>::quiet_NaN(), 3};
  CHECK_FALSE(sampler->Sample(bad, third).ok());
}

}  // namespace krafla

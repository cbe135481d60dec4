// The default chain with every stage at work against the second implementation; extreme values
// through every stage; log-probabilities of what a chain leaves.
#include <cmath>
#include <limits>

#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

TEST_CASE("every stage of the default chain at once") {
  auto sampler = *Sampler::Create(11);
  REQUIRE(sampler->AddDefaultStages().ok());
  const struct {
    const char* stage;
    const char* name;
    double value;
  } kSet[] = {{"penalties", "repeat", 1.2},  {"penalties", "frequency", 0.1},
              {"dry", "multiplier", 0.5},    {"dry", "allowed_length", 1},
              {"top_n_sigma", "n", 2.2},     {"top_k", "k", 9},
              {"typical", "p", 0.97},        {"top_p", "p", 0.96},
              {"min_p", "p", 0.05},          {"xtc", "probability", 0.4},
              {"xtc", "threshold", 0.15},    {"temperature", "t", 1.3},
              {"temperature", "range", 0.5}, {"temperature", "exponent", 1.5}};
  for (const auto& row : kSet) REQUIRE(sampler->SetParam(row.stage, row.name, row.value).ok());
  const TokenBias biases[] = {{1.5, 6, 0}, {-std::numeric_limits<double>::infinity(), 4, 0}};
  REQUIRE(sampler->SetBiases(biases).ok());
  const std::vector<int32_t> history = {7, 9, 3, 7, 9, 6, 7};
  for (const int32_t id : history) REQUIRE(sampler->Accept(id).ok());

  namespace ref = reference;
  ref::Values values = ref::Of(kLogits);
  values[6] += 1.5;
  values[4] = -std::numeric_limits<double>::infinity();
  values = ref::Penalties(values, history, 1.2, 0.1, 0);
  values = ref::Dry(values, history, {}, {}, 0.5, 1.75, 1);
  values = ref::TopNSigma(values, 2.2);
  values = ref::TopK(values, 9);
  values = ref::Typical(values, 0.97);
  values = ref::TopP(values, 0.96);
  values = ref::MinP(values, 0.05);
  const auto warm = [](const ref::Values& v) {
    return ref::Probabilities(ref::Temperature(v, 1.3, 0.5, 1.5));
  };
  std::vector<double> expected = warm(values);
  const std::vector<double> cut = warm(ref::Xtc(values, 0.15));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = 0.6 * expected[i] + 0.4 * cut[i];
  CHECK(std::count(expected.begin(), expected.end(), 0) > 2);
  CHECK(std::count(expected.begin(), expected.end(), 0) < 9);
  CheckDraws(sampler.get(), kLogits, expected);
}

TEST_CASE("a dynamic temperature draws from its exact distribution") {
  const float sure[] = {12, 1, 0.5f, 0}, unsure[] = {1, 1, 1, 1, 1};
  for (const double exponent : {0.0, 0.5, 1.0, 2.5}) {
    for (const double t : {0.0, 0.7, 2.0}) {
      INFO(exponent << " " << t);
      const SamplerParam params[] = {{"t", t}, {"range", 1.1}, {"exponent", exponent}};
      const auto sampler = SamplerOf("temperature", params);
      for (const std::span<const float> logits :
           {std::span<const float>(kLogits), std::span<const float>(sure),
            std::span<const float>(unsure)}) {
        CheckDraws(sampler.get(), logits,
                   reference::Probabilities(
                       reference::Temperature(reference::Of(logits), t, 1.1, exponent)));
      }
    }
  }
}

// Each stage alone with its parameters at both ends and in between, on logits that are hard.
TEST_CASE("no stage loses its last candidate or makes NaN, whatever the logits") {
  std::vector<float> flat(300, 5.5f), masked(300, -kInf), spread(300), steep(300);
  masked[17] = -3.4e38f;
  for (size_t i = 0; i < 300; ++i) {
    spread[i] = i % 3 == 0 ? -kInf : static_cast<float>(i % 97) / 10;
    steep[i] = i == 200 ? 3.4e38f : -3.4e38f;
  }
  std::vector<float> one = {0.25f}, two = {3.4e38f, -3.4e38f};
  for (const StageInfo& info : AllStages()) {
    for (int corner = 0; corner < 81; ++corner) {
      std::vector<SamplerParam> params;
      int digits = corner;
      for (const StageParam& param : info.params) {
        const double low =
            param.min_excluded ? std::numeric_limits<double>::denorm_min() : param.min;
        const double values[] = {low, param.initial, param.max};
        params.push_back({param.name, values[digits % 3]});
        digits /= 3;
      }
      const auto sampler = SamplerOf(info.name, params);
      for (const int32_t id : {0, 17, 0, 17, 200, 0, 17}) REQUIRE(sampler->Accept(id).ok());
      for (const auto* logits : {&flat, &masked, &spread, &steep, &one, &two}) {
        INFO(info.name << " corner " << corner << " of " << logits->size());
        for (int i = 0; i < 3; ++i) {
          const auto id = sampler->Sample(*logits);
          REQUIRE(id.ok());
          CHECK((*logits)[static_cast<size_t>(*id)] > -kInf);
          CHECK(sampler->ChosenLogProb() <= 0);
          CHECK(sampler->ChosenLogProb() > -kInf);
        }
      }
    }
  }
}

TEST_CASE("log-probabilities of what the chain leaves") {
  const SamplerParam k[] = {{"k", 4}};
  const auto sampler = SamplerOf("top_k", k);
  REQUIRE(sampler->SetParam("temperature", "t", 2).ok());
  const auto want = reference::Probabilities(
      reference::Temperature(reference::TopK(reference::Of(kLogits), 4), 2));
  for (int i = 0; i < 20; ++i) {
    const auto id = static_cast<size_t>(*sampler->Sample(kLogits));
    CHECK(sampler->ChosenLogProb() == Approx(std::log(want[id])).margin(1e-6));
    int32_t ids[12];
    float logprobs[12];
    REQUIRE(sampler->TopOfChain(ids, logprobs) == 4);
    CHECK(ids[0] == 7);
    CHECK(ids[1] == 1);  // equal to 4: the lower id first
    CHECK(ids[2] == 4);
    CHECK(ids[3] == 9);
    for (size_t j = 0; j < 4; ++j) {
      CHECK(logprobs[j] == Approx(std::log(want[static_cast<size_t>(ids[j])])).margin(1e-6));
    }
    CHECK(sampler->TopOfChain(std::span(ids, 2), std::span(logprobs, 2)) == 2);
    CHECK(ids[1] == 1);
  }
  auto greedy = *Sampler::Create(1);
  CHECK_FALSE(greedy->has_choice());
  CHECK(*greedy->Sample(kLogits) == 7);
  CHECK(greedy->ChosenLogProb() == 0);
}

}  // namespace
}  // namespace krafla

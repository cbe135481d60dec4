// The chi-square check itself, and the default chain under it.
#include "tests/sampler/distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/catch.h"
#include "tests/support/sanitized.h"

namespace krafla {

std::unique_ptr<Sampler> SamplerOf(std::string_view stage, std::span<const SamplerParam> params) {
  auto sampler = Sampler::Create(1);
  REQUIRE(sampler.ok());
  REQUIRE((*sampler)->AddStage(stage, params).ok());
  if (stage != "temperature") {
    const SamplerParam one[] = {{"t", 1}};
    REQUIRE((*sampler)->AddStage("temperature", one).ok());
  }
  return *std::move(sampler);
}

std::vector<double> Softmax(std::span<const float> logits, double t) {
  const long double max = *std::max_element(logits.begin(), logits.end());
  std::vector<long double> weights;
  for (const float x : logits) weights.push_back(std::exp((x - max) / t));
  const long double total = std::accumulate(weights.begin(), weights.end(), 0.0L);
  std::vector<double> result;
  for (const long double w : weights) result.push_back(static_cast<double>(w / total));
  return result;
}

std::vector<double> Restrict(std::vector<double> probabilities, const std::vector<bool>& keep) {
  double total = 0;
  for (size_t i = 0; i < probabilities.size(); ++i) total += keep[i] ? probabilities[i] : 0;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = keep[i] ? probabilities[i] / total : 0;
  }
  return probabilities;
}

std::vector<size_t> Ranked(const std::vector<double>& probabilities) {
  std::vector<size_t> ids(probabilities.size());
  std::iota(ids.begin(), ids.end(), size_t{0});
  std::stable_sort(ids.begin(), ids.end(),
                   [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  return ids;
}

void CheckDraws(Sampler* sampler, std::span<const float> logits,
                const std::vector<double>& expected) {
  constexpr int kDraws = kSanitized ? 20000 : 200000;
  std::vector<int> counts(logits.size());
  for (int i = 0; i < kDraws; ++i) {
    const auto id = sampler->Sample(logits);
    if (!id.ok()) FAIL(Message(id.status()));
    ++counts[static_cast<size_t>(*id)];
  }
  double chi_square = 0;
  int possible = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    INFO("id " << id);
    if (expected[id] == 0) {
      CHECK(counts[id] == 0);
      continue;
    }
    ++possible;
    const double want = expected[id] * kDraws;
    chi_square += (counts[id] - want) * (counts[id] - want) / want;
  }
  const double freedom = possible - 1;
  if (freedom == 0) return;
  // Wilson and Hilferty's quantile; 4.7534 is the normal one for 1e-6.
  const double spread = 2 / (9 * freedom);
  const double limit = freedom * std::pow(1 - spread + 4.7534 * std::sqrt(spread), 3);
  CHECK(chi_square < limit);
}

namespace {

TEST_CASE("the check itself notices a distribution that is off by a little") {
  // The draws follow temperature 1; against 1.05 the statistic must be far beyond the limit.
  const SamplerParam one[] = {{"t", 1}};
  const auto sampler = SamplerOf("temperature", one);
  std::vector<int> counts(std::size(kLogits));
  for (int i = 0; i < 200000; ++i) ++counts[static_cast<size_t>(*sampler->Sample(kLogits))];
  const std::vector<double> other = Softmax(kLogits, 1.05);
  double chi_square = 0;
  for (size_t id = 0; id < counts.size(); ++id) {
    const double want = other[id] * 200000;
    chi_square += (counts[id] - want) * (counts[id] - want) / want;
  }
  CHECK(chi_square > 200);
}

TEST_CASE("the default chain draws from its exact distribution") {
  auto sampler = *Sampler::Create(5);
  REQUIRE(sampler->AddDefaultStages().ok());
  REQUIRE(sampler->SetParam("penalties", "repeat", 1.5).ok());
  REQUIRE(sampler->SetParam("penalties", "frequency", 0.25).ok());
  REQUIRE(sampler->SetParam("penalties", "presence", 0.5).ok());
  REQUIRE(sampler->SetParam("top_k", "k", 8).ok());
  REQUIRE(sampler->SetParam("top_p", "p", 0.95).ok());
  REQUIRE(sampler->SetParam("min_p", "p", 0.08).ok());
  REQUIRE(sampler->SetParam("temperature", "t", 1.7).ok());
  for (const int32_t id : {7, 7, 1, 5}) REQUIRE(sampler->Accept(id).ok());

  std::vector<float> logits(std::begin(kLogits), std::end(kLogits));
  logits[7] = logits[7] / 1.5f - 2 * 0.25f - 0.5f;
  logits[1] = logits[1] / 1.5f - 0.25f - 0.5f;
  logits[5] = logits[5] * 1.5f - 0.25f - 0.5f;
  const std::vector<double> p = Softmax(logits);
  const std::vector<size_t> ranked = Ranked(p);
  std::vector<bool> keep(logits.size(), false);
  double top_8 = 0;
  for (size_t i = 0; i < 8; ++i) top_8 += p[ranked[i]];
  double sum = 0;
  for (size_t i = 0; i < 8 && sum < 0.95 * top_8; ++i) {
    sum += p[ranked[i]];
    if (p[ranked[i]] >= 0.08 * p[ranked[0]]) keep[ranked[i]] = true;
  }
  CHECK(std::count(keep.begin(), keep.end(), true) > 3);
  CHECK(std::count(keep.begin(), keep.end(), true) < 8);
  CheckDraws(sampler.get(), kLogits, Restrict(Softmax(logits, 1.7), keep));
}

}  // namespace
}  // namespace krafla

// Drawing many ids and comparing their counts with an exact distribution, for the tests of every
// stage.
#ifndef KRAFLA_TESTS_SAMPLER_DISTRIBUTION_H_
#define KRAFLA_TESTS_SAMPLER_DISTRIBUTION_H_

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/sampler/sampler.h"

namespace krafla {

// A sampler with seed 1 whose chain is one stage, then temperature 1.
std::unique_ptr<Sampler> SamplerOf(std::string_view stage, std::span<const SamplerParam> params);

// Softmax of logits / t in long double; excluded entries (-inf) get 0.
std::vector<double> Softmax(std::span<const float> logits, double t = 1);

// Sets entries whose `keep` is false to 0 and scales the rest to sum 1.
std::vector<double> Restrict(std::vector<double> probabilities, const std::vector<bool>& keep);

// The ids of descending probability, the lower id first among equals.
std::vector<size_t> Ranked(const std::vector<double>& probabilities);

// Fails the test if 200,000 draws have a chi-square above its 1 - 1e-6 quantile, or an id of
// probability 0 among them. No draw is accepted into the history.
void CheckDraws(Sampler* sampler, std::span<const float> logits,
                const std::vector<double>& expected);

// 12 logits of a spread-out distribution, not in order, with two equal ones.
inline constexpr float kLogits[] = {0.5f,  2.0f, -1.0f, 1.25f, 2.0f,  -3.0f,
                                    0.75f, 3.1f, -0.2f, 1.9f,  -6.0f, 0.0f};

}  // namespace krafla

#endif  // KRAFLA_TESTS_SAMPLER_DISTRIBUTION_H_

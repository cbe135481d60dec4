// What each stage should leave, computed as its definition reads, with the C library's functions:
// a second implementation for the distributions that draws are compared with.
#ifndef KRAFLA_TESTS_SAMPLER_REFERENCE_H_
#define KRAFLA_TESTS_SAMPLER_REFERENCE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace krafla::reference {

// logits[id]; -inf: dropped.
using Values = std::vector<double>;

Values Of(std::span<const float> logits);
// Of what is left, 0 for what is dropped.
std::vector<double> Probabilities(const Values& values);

Values Penalties(Values values, const std::vector<int32_t>& history, double repeat,
                 double frequency, double presence);
// breaks[i]: a breaker ends in history[i]; breaking[id]: the token holds one.
Values Dry(Values values, const std::vector<int32_t>& history, const std::vector<bool>& breaks,
           const std::vector<bool>& breaking, double multiplier, double base, int allowed);
Values TopNSigma(Values values, double n);
Values TopK(Values values, size_t k);
Values Typical(Values values, double p);
Values TopP(Values values, double p);
Values MinP(Values values, double p);
// When it acts.
Values Xtc(Values values, double threshold);
Values Temperature(Values values, double t, double range = 0, double exponent = 1);
Values Mirostat(Values values, double mu);

}  // namespace krafla::reference

#endif  // KRAFLA_TESTS_SAMPLER_REFERENCE_H_

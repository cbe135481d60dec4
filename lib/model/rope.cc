// Frequencies in double, rounded to f32 once; the scalings then go in f32, step by step as Hugging
// Face's modeling_rope_utils does, because the angle of a far position shows every rounding.
#include "lib/model/rope.h"

#include <algorithm>
#include <cmath>

#include "lib/base/math.h"

namespace krafla {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr float kTwoPi = 6.283185307179586F;

// theta^(2j / n_rot): a turn takes 2 pi times as many positions.
double Period(const RopeConfig& config, size_t n_rot, size_t j) {
  return Pow(config.theta, static_cast<double>(2 * j) / static_cast<double>(n_rot));
}

// Long waves are stretched by `factor`, short ones kept, those between interpolated.
float Llama3Frequency(const RopeConfig& config, float frequency) {
  const auto original = static_cast<double>(config.original_max_positions);
  const auto low_wavelength = static_cast<float>(original / config.low_freq_factor);
  const auto high_wavelength = static_cast<float>(original / config.high_freq_factor);
  const auto factor = static_cast<float>(config.factor);
  const float wavelength = kTwoPi / frequency;
  if (wavelength > low_wavelength) return frequency / factor;
  if (wavelength < high_wavelength) return frequency;
  const float smooth =
      (static_cast<float>(original) / wavelength - static_cast<float>(config.low_freq_factor)) /
      static_cast<float>(config.high_freq_factor - config.low_freq_factor);
  return (1.0F - smooth) * frequency / factor + smooth * frequency;
}

// YaRN (arXiv 2309.00071): frequencies that turn more than beta_fast times within the original
// length are kept, those below beta_slow turns stretched, with a linear ramp over their numbers.
struct YarnRamp {
  YarnRamp(const RopeConfig& config, size_t n_rot) {
    const auto dims = static_cast<double>(n_rot);
    const auto number = [&](double turns) {
      const auto original = static_cast<double>(config.original_max_positions);
      return dims * Log(original / (turns * 2 * kPi)) / (2 * Log(config.theta));
    };
    double first = number(config.beta_fast);
    double last = number(config.beta_slow);
    if (config.truncate) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, dims - 1);
    if (first == last) last += 0.001;
    begin = static_cast<float>(first);
    width = static_cast<float>(last - first);
  }
  float At(size_t j) const {
    return std::clamp((static_cast<float>(j) - begin) / width, 0.0F, 1.0F);
  }
  float begin;
  float width;
};

std::vector<float> YarnFrequencies(const RopeConfig& config, size_t n_rot) {
  const YarnRamp ramp(config, n_rot);
  std::vector<float> frequencies(n_rot / 2);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const auto period = static_cast<float>(Period(config, n_rot, j));
    const float kept = 1.0F / period;
    const float stretched = 1.0F / (static_cast<float>(config.factor) * period);
    const float share = 1.0F - ramp.At(j);
    frequencies[j] = stretched * (1.0F - share) + kept * share;
  }
  return frequencies;
}

std::vector<float> LongRopeFrequencies(const RopeConfig& config, size_t n_rot,
                                       const std::vector<double>& factors) {
  std::vector<float> frequencies(n_rot / 2);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const auto period = static_cast<float>(Period(config, n_rot, j));
    frequencies[j] = 1.0F / (static_cast<float>(factors[j]) * period);
  }
  return frequencies;
}

std::vector<float> PlainFrequencies(const RopeConfig& config, size_t n_rot) {
  std::vector<float> frequencies(n_rot / 2);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    auto frequency = static_cast<float>(1.0 / Period(config, n_rot, j));
    if (config.kind == "linear") frequency /= static_cast<float>(config.factor);
    if (config.kind == "llama3") frequency = Llama3Frequency(config, frequency);
    frequencies[j] = frequency;
  }
  return frequencies;
}

}  // namespace

RopeTable MakeRopeTable(const RopeConfig& config, size_t n_rot) {
  RopeTable table;
  table.factor = static_cast<float>(config.attention_factor);
  if (config.kind == "yarn") {
    table.frequencies = YarnFrequencies(config, n_rot);
  } else if (config.kind == "longrope") {
    table.frequencies = LongRopeFrequencies(config, n_rot, config.short_factors);
    table.long_frequencies = LongRopeFrequencies(config, n_rot, config.long_factors);
    table.long_after = config.original_max_positions;
  } else {
    table.frequencies = PlainFrequencies(config, n_rot);
  }
  return table;
}

void RopeAngles(const std::vector<float>& frequencies, int64_t position, float factor, float* cos,
                float* sin) {
  const auto at = static_cast<float>(position);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const float angle = at * frequencies[j];
    cos[j] = static_cast<float>(Cos(angle)) * factor;
    sin[j] = static_cast<float>(Sin(angle)) * factor;
  }
}

}  // namespace krafla

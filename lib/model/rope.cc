// Frequencies in double, rounded to f32 once; the scalings then go in f32, step by step as Hugging
// Face's modeling_rope_utils does, because the angle of a far position shows every rounding.
#include "lib/model/rope.h"

#include "lib/base/math.h"

namespace krafla {
namespace {

constexpr float kTwoPi = 6.283185307179586F;

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

}  // namespace

std::vector<float> RopeFrequencies(const RopeConfig& config, size_t n_rot) {
  std::vector<float> frequencies(n_rot / 2);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const double exponent = static_cast<double>(2 * j) / static_cast<double>(n_rot);
    auto frequency = static_cast<float>(1.0 / Pow(config.theta, exponent));
    if (config.kind == "linear") frequency /= static_cast<float>(config.factor);
    if (config.kind == "llama3") frequency = Llama3Frequency(config, frequency);
    frequencies[j] = frequency;
  }
  return frequencies;
}

void RopeAngles(const std::vector<float>& frequencies, int64_t position, float* cos, float* sin) {
  const auto at = static_cast<float>(position);
  for (size_t j = 0; j < frequencies.size(); ++j) {
    const float angle = at * frequencies[j];
    cos[j] = static_cast<float>(Cos(angle));
    sin[j] = static_cast<float>(Sin(angle));
  }
}

}  // namespace krafla

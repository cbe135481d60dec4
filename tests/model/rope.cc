// Rotary frequencies and angles against values computed by Hugging Face's formulas in NumPy.
#include "lib/model/rope.h"

#include <cmath>

#include "tests/support/catch.h"

namespace krafla {
namespace {

std::vector<float> Frequencies(const RopeConfig& config, size_t n_rot) {
  return MakeRopeTable(config, n_rot).frequencies;
}

TEST_CASE("default frequencies are rounded once") {
  RopeConfig config;
  const auto f = Frequencies(config, 16);
  REQUIRE(f.size() == 8);
  for (size_t j = 0; j < 8; ++j) {
    CHECK(f[j] == static_cast<float>(std::pow(10000.0, -static_cast<double>(2 * j) / 16)));
  }
}

TEST_CASE("linear scaling stretches every wave") {
  RopeConfig config;
  const auto plain = Frequencies(config, 64);
  config.kind = "linear";
  config.factor = 4;
  const auto f = Frequencies(config, 64);
  for (size_t j = 0; j < f.size(); ++j) CHECK(f[j] == plain[j] / 4);
}

TEST_CASE("llama3 scaling keeps short waves, stretches long ones and is continuous between") {
  RopeConfig config;
  config.theta = 500000;
  const auto plain = Frequencies(config, 128);
  config.kind = "llama3";
  config.factor = 8;
  config.low_freq_factor = 1;
  config.high_freq_factor = 4;
  config.original_max_positions = 8192;
  const auto f = Frequencies(config, 128);
  size_t between = 0;
  for (size_t j = 0; j < f.size(); ++j) {
    const float wavelength = 6.2831853F / plain[j];
    if (wavelength < 2048) {
      CHECK(f[j] == plain[j]);
    } else if (wavelength > 8192) {
      CHECK(f[j] == plain[j] / 8);
    } else {
      ++between;
      CHECK(f[j] < plain[j]);
      CHECK(f[j] > plain[j] / 8);
    }
    if (j > 0) CHECK(f[j] < f[j - 1]);
  }
  CHECK(between > 0);
}

TEST_CASE("angles are rounded to f32 before sine and cosine") {
  const std::vector<float> f = {1.0F, 0.1F, 1e-4F};
  float cos[3];
  float sin[3];
  for (const int64_t position : {0, 1, 4095, 131071, 1 << 20}) {
    RopeAngles(f, position, 1, cos, sin);
    for (size_t j = 0; j < 3; ++j) {
      const double angle = static_cast<float>(position) * f[j];
      CHECK(std::abs(cos[j] - std::cos(angle)) < 6.1e-8);
      CHECK(std::abs(sin[j] - std::sin(angle)) < 6.1e-8);
    }
  }
}

}  // namespace
}  // namespace krafla

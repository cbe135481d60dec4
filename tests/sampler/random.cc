// The counter-based generator: fixed values, uniformity, and no relation between neighbouring
// seeds.
#include "lib/sampler/random.h"

#include <cmath>
#include <set>

#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("values are fixed") {
  CHECK(UniformRandom(0, 0) == 0x1.a93ffc5e1df20p-1);
  CHECK(UniformRandom(1, 0) == 0x1.9eef02f0a02a8p-2);
  CHECK(UniformRandom(~uint64_t{0}, ~uint64_t{0}) == 0x1.1140638c16042p-2);
}

TEST_CASE("uniform along the counter and along the seed, without correlation") {
  constexpr int kN = 200000, kBins = 100;
  for (const bool by_seed : {false, true}) {
    int bins[kBins] = {};
    double product = 0;
    for (uint64_t n = 0; n < kN; ++n) {
      const double u = by_seed ? UniformRandom(n, 3) : UniformRandom(3, n);
      const double next = by_seed ? UniformRandom(n + 1, 3) : UniformRandom(3, n + 1);
      if (!(u >= 0 && u < 1)) FAIL(u);
      ++bins[static_cast<int>(u * kBins)];
      product += (u - 0.5) * (next - 0.5);
    }
    double chi_square = 0;
    for (const int count : bins) {
      chi_square += std::pow(count - kN / kBins, 2) / (kN / kBins);
    }
    CHECK(chi_square < 180);                                  // 99 degrees, 1e-6
    CHECK(std::fabs(product / kN * 12) * std::sqrt(kN) < 5);  // in standard deviations
  }
}

TEST_CASE("seeds share no stretch of numbers") {
  std::set<double> seen;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    for (uint64_t n = 0; n < 1000; ++n) seen.insert(UniformRandom(seed, n));
  }
  CHECK(seen.size() == 100000);
}

TEST_CASE("system seeds differ") {
  const auto a = SystemSeed(), b = SystemSeed();
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(*a != *b);
}

}  // namespace
}  // namespace krafla

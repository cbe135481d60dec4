// Seed and counter are mixed apart before they meet: plain splitmix64 (Steele, Lea and Flood 2014)
// walks one cycle for every seed, so that two seeds could give the same numbers a few places apart.
#include "lib/sampler/random.h"

#include <exception>
#include <random>

namespace krafla {
namespace {

constexpr uint64_t kGolden = 0x9E3779B97F4A7C15ull;

// The finaliser of splitmix64, a bijection in which each input bit flips each output bit about half
// the time.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace

double UniformRandom(uint64_t seed, uint64_t n) {
  const uint64_t bits = Mix(Mix(seed + kGolden) + Mix((n + 1) * kGolden));
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

StatusOr<uint64_t> SystemSeed() {
  try {
    std::random_device device;
    const uint64_t high = device();
    return high << 32 | (device() & 0xFFFFFFFFull);
  } catch (const std::exception& e) {
    return IoError("sampler: no seed from the system: {}", e.what());
  }
}

}  // namespace krafla

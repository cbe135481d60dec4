// Random numbers by counter: the n-th is a fixed function of (seed, n), so a sampler's whole state
// is one number, a clone continues as its original would, and no platform's generator is involved.
#ifndef KRAFLA_LIB_SAMPLER_RANDOM_H_
#define KRAFLA_LIB_SAMPLER_RANDOM_H_

#include <cstdint>

#include "lib/base/status.h"

namespace krafla {

// The n-th uniform number of `seed`, a multiple of 2^-53 in [0, 1).
double UniformRandom(uint64_t seed, uint64_t n);

// The numbers of one seed, in order.
struct Random {
  uint64_t seed = 0;
  uint64_t n = 0;  // drawn so far
  double Next() { return UniformRandom(seed, n++); }
};

// A seed from the system's source of randomness.
StatusOr<uint64_t> SystemSeed();

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_RANDOM_H_

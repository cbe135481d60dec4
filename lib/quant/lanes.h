// Sixteen floats at a time, one a row of a weight tile, in the compilers' own vectors: the same
// operations on every machine, whatever registers it has.
#ifndef KRAFLA_LIB_QUANT_LANES_H_
#define KRAFLA_LIB_QUANT_LANES_H_

#include <cstdint>
#include <cstring>

namespace krafla {

using Lanes = float __attribute__((vector_size(64)));

inline Lanes LoadLanes(const float* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void StoreLanes(float* p, const Lanes& v) { std::memcpy(p, &v, sizeof v); }

// To nearest even for |x| < 2^22: adding 1.5 x 2^23 leaves no bits for a fraction.
inline Lanes RoundLanes(const Lanes& x) { return (x + 12582912.0f) - 12582912.0f; }

inline Lanes ClampLanes(const Lanes& x, float low, float high) {
  const Lanes floor = x < low ? Lanes{} + low : x;
  return floor > high ? Lanes{} + high : floor;
}

}  // namespace krafla

#endif  // KRAFLA_LIB_QUANT_LANES_H_

// The same for floats (half_tails.h), on sets that have no masks at all.
#ifndef KRAFLA_KERNELS_GENERIC_FLOAT_TAILS_H_
#define KRAFLA_KERNELS_GENERIC_FLOAT_TAILS_H_

namespace krafla::KRAFLA_KERNELS {
namespace {

inline F32 load(const float* p, size_t n) {
  float lanes[kLanes] = {};
  memcpy(lanes, p, n * sizeof *p);
  return load(lanes);
}
inline void store(float* p, F32 a, size_t n) {
  float lanes[kLanes];
  store(lanes, a);
  memcpy(p, lanes, n * sizeof *p);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_FLOAT_TAILS_H_

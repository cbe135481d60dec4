// How the algorithms of generic/ walk over rows: whole vectors first, then one vector of the lanes
// that remain; and the fold of the 16 partial sums that a reduction has on every instruction set.
#ifndef KRAFLA_KERNELS_GENERIC_LOOPS_H_
#define KRAFLA_KERNELS_GENERIC_LOOPS_H_

#include "vec.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

constexpr size_t kParts = 16 / kLanes;  // vectors of a tile's 16 rows and of 16 partial sums

// A count that says "all lanes" in its type.
struct All {};
inline F32 load(const float* p, All) { return load(p); }
inline F32 load_f16(const uint16_t* p, All) { return load_f16(p); }
inline F32 load_bf16(const uint16_t* p, All) { return load_bf16(p); }
inline void store(float* p, F32 v, All) { store(p, v); }
inline void store_f16(uint16_t* p, F32 v, All) { store_f16(p, v); }
inline void store_low16(uint16_t* p, I32 v, All) { store_low16(p, v); }

// body(i, count) for each vector of n elements that starts at i.
template <class Body>
inline void for_vectors(size_t n, Body body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, All());
  if (i < n) body(i, n - i);
}

// Lanes of the vector at i that lie below n.
inline size_t lanes_left(size_t i, size_t n) {
  if (i >= n) return 0;
  return n - i < kLanes ? n - i : kLanes;
}

inline float fold_sums(F32 (&s)[kParts]) {
  for (size_t half = kParts / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) s[i] = s[i] + s[i + half];
  }
  return fold_sum(s[0]);
}

inline float fold_maxima(F32 (&s)[kParts]) {
  for (size_t half = kParts / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) s[i] = max(s[i + half], s[i]);
  }
  return fold_max(s[0]);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_LOOPS_H_

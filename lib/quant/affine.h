// Affine formats: values s * q + m with one f16 pair a group of 32 or 64. How s and m are chosen
// for 16 rows at once, each a lane, and where they and the codes lie in a tile.
#ifndef KRAFLA_LIB_QUANT_AFFINE_H_
#define KRAFLA_LIB_QUANT_AFFINE_H_

#include <cstddef>
#include <cstdint>

#include "lib/quant/format.h"
#include "lib/quant/lanes.h"

namespace krafla {

inline constexpr size_t kMaxGroup = 64;

struct AffineFormat {
  size_t group;  // 32 or 64; 0: not an affine format
  float low;     // codes are whole numbers in low .. high
  float high;
};
AffineFormat AffineOf(Format format);

// Both hold f16 values.
struct AffineScales {
  Lanes s;
  Lanes m;
};

// The n <= kMaxGroup columns x of a group. kLeastSquares: s and m together by alternating between
// codes and the least squares with weights w, from nine ranges; kHqq: the published half-quadratic
// solver (p = 0.7, beta 10, kappa 1.01, 20 rounds; it stops by the rows of a tile rather than of
// the tensor), w unused.
AffineScales FitAffine(const AffineFormat& format, AffineSolver solver, const Lanes* x,
                       const Lanes* w, size_t n);

// One of the least-squares solver's candidates, start in 0 .. kAffineStarts - 1.
inline constexpr int kAffineStarts = 9;
AffineScales FitAffineFrom(const AffineFormat& format, int start, const Lanes* x, const Lanes* w,
                           size_t n);

inline Lanes AffineCode(const AffineFormat& format, const AffineScales& scales, const Lanes& x) {
  const Lanes inverse = scales.s != 0.0f ? 1.0f / scales.s : Lanes{};
  return RoundLanes(ClampLanes((x - scales.m) * inverse, format.low, format.high));
}

// Where group `index` of a tile begins, and its scales and codes into it; codes[k] for the group's
// first n k; those that the matrix does not have are zero bytes.
unsigned char* GroupAt(Format format, void* tile, size_t index);
void StoreGroup(Format format, const AffineScales& scales, const Lanes* codes, size_t n,
                unsigned char* group);

}  // namespace krafla

#endif  // KRAFLA_LIB_QUANT_AFFINE_H_

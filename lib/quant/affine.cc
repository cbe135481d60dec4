// See affine.h. The codes of q8a are signed, since the products of bytes are.
#include "lib/quant/affine.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kernels.h"
#include "lib/base/math.h"
#include "lib/quant/half.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

constexpr float kMaxF16 = 65504.0f;

Lanes ToF16(Lanes x) {
  for (size_t r = 0; r < kTileRows; ++r) {
    x[r] = F16ToF32(F32ToF16(Clamp(x[r], -kMaxF16, kMaxF16)));
  }
  return x;
}

struct Range {
  Lanes low;
  Lanes high;
};

Range RangeOf(const Lanes* x, size_t n) {
  Range range{x[0], x[0]};
  for (size_t k = 1; k < n; ++k) {
    range.low = x[k] < range.low ? x[k] : range.low;
    range.high = x[k] > range.high ? x[k] : range.high;
  }
  return range;
}

// As they are stored.
AffineScales Stored(const AffineScales& scales) { return {ToF16(scales.s), ToF16(scales.m)}; }

Lanes Loss(const AffineFormat& format, const AffineScales& scales, const Lanes* x, const Lanes* w,
           size_t n) {
  Lanes loss = {};
  for (size_t k = 0; k < n; ++k) {
    const Lanes off = x[k] - (AffineCode(format, scales, x[k]) * scales.s + scales.m);
    loss += w[k] * (off * off);
  }
  return loss;
}

// The best s and m for the codes that the given ones lead to.
AffineScales Refit(const AffineFormat& format, const AffineScales& scales, const Lanes* x,
                   const Lanes* w, size_t n) {
  Lanes sum_w = {};
  Lanes q = {};
  Lanes qq = {};
  Lanes sum_x = {};
  Lanes qx = {};
  for (size_t k = 0; k < n; ++k) {
    const Lanes code = AffineCode(format, scales, x[k]);
    const Lanes wq = w[k] * code;
    sum_w += w[k];
    q += wq;
    qq += wq * code;
    sum_x += w[k] * x[k];
    qx += wq * x[k];
  }
  const Lanes determinant = sum_w * qq - q * q;
  const auto solvable = determinant > 1e-6f * (sum_w * qq);
  const Lanes s = (sum_w * qx - q * sum_x) / determinant;
  AffineScales result;
  result.s = solvable ? s : scales.s;
  result.m = solvable ? (sum_x - s * q) / sum_w : scales.m;
  return result;
}

AffineScales LeastSquares(const AffineFormat& format, const Lanes* x, const Lanes* w, size_t n) {
  AffineScales best = {};
  Lanes best_loss = {};
  for (int start = 0; start < kAffineStarts; ++start) {
    const AffineScales scales = FitAffineFrom(format, start, x, w, n);
    const Lanes loss = Loss(format, scales, x, w, n);
    const auto better = start == 0 ? loss == loss : loss < best_loss;
    best.s = better ? scales.s : best.s;
    best.m = better ? scales.m : best.m;
    best_loss = better ? loss : best_loss;
  }
  return best;
}

// shrink(x) = sign(x) max(|x| - |x|^(p - 1) / beta, 0) with p = 0.7.
Lanes Shrunk(const Lanes& x, double beta) {
  Lanes result;
  for (size_t r = 0; r < kTileRows; ++r) {
    const double magnitude = std::fabs(double{x[r]});
    const double rest =
        magnitude > 0 ? magnitude - Pow(magnitude, -0.3) / beta : 0;  // |x|^(0.7 - 1)
    result[r] = rest > 0 ? static_cast<float>(x[r] < 0 ? -rest : rest) : 0.0f;
  }
  return result;
}

// q = round(x / s + z) and x ~ s (q - z), q from 0 on: m is -s (z + low).
AffineScales HalfQuadratic(const AffineFormat& format, const Lanes* x, size_t n) {
  constexpr int kRounds = 20;
  const float levels = format.high - format.low;
  const Range range = RangeOf(x, n);
  AffineScales scales;
  scales.s = (range.high - range.low) * (1 / levels);
  const Lanes inverse = scales.s > 0.0f ? 1.0f / scales.s : Lanes{};
  Lanes zero = -range.low * inverse;
  Lanes best_zero = zero;
  float best_error = 0;
  double beta = 10;
  for (int round = 0; round < kRounds; ++round) {
    Lanes sum = {};
    Lanes error = {};
    for (size_t k = 0; k < n; ++k) {
      const Lanes code = RoundLanes(ClampLanes(x[k] * inverse + zero, 0, levels));
      const Lanes off = x[k] - scales.s * (code - zero);
      error += off < 0.0f ? -off : off;
      sum += code - (x[k] - Shrunk(off, beta)) * inverse;
    }
    float total = 0;
    for (size_t r = 0; r < kTileRows; ++r) total += error[r];
    if (round > 0 && total >= best_error) break;
    best_error = total;
    best_zero = zero;
    zero = sum / static_cast<float>(n);
    beta *= 1.01;
  }
  // Groups of one value have no scale: they are their m.
  scales.m = scales.s > 0.0f ? -scales.s * (best_zero + format.low) : range.low;
  return Stored(scales);
}

}  // namespace

AffineFormat AffineOf(Format format) {
  switch (format) {
    case Format::kQ4A:
      return {32, 0, 15};
    case Format::kQ4A64:
      return {64, 0, 15};
    case Format::kQ6A:
      return {32, 0, 63};
    case Format::kQ6A64:
      return {64, 0, 63};
    case Format::kQ8A:
      return {32, -128, 127};
    case Format::kQ8A64:
      return {64, -128, 127};
    default:
      return {0, 0, 0};
  }
}

AffineScales FitAffineFrom(const AffineFormat& format, int start, const Lanes* x, const Lanes* w,
                           size_t n) {
  constexpr int kRounds = 3;
  const Range range = RangeOf(x, n);
  const Lanes center = 0.5f * (range.low + range.high);
  const Lanes half = 0.5f * (range.high - range.low);
  const float shrink = 1 - 0.3f * static_cast<float>(start) / (kAffineStarts - 1);
  AffineScales scales;
  scales.s = shrink * half * (2 / (format.high - format.low));
  scales.m = center - shrink * half - format.low * scales.s;
  for (int round = 0; round < kRounds; ++round) scales = Refit(format, scales, x, w, n);
  return Stored(scales);
}

AffineScales FitAffine(const AffineFormat& format, AffineSolver solver, const Lanes* x,
                       const Lanes* w, size_t n) {
  return solver == AffineSolver::kHqq ? HalfQuadratic(format, x, n) : LeastSquares(format, x, w, n);
}

unsigned char* GroupAt(Format format, void* tile, size_t index) {
  return static_cast<unsigned char*>(tile) + TileBytes(format, AffineOf(format).group) * index;
}

void StoreGroup(Format format, const AffineScales& scales, const Lanes* codes, size_t n,
                unsigned char* group) {
  const AffineFormat affine = AffineOf(format);
  for (size_t r = 0; r < kTileRows; ++r) {
    const uint16_t s = F32ToF16(scales.s[r]);
    const uint16_t m = F32ToF16(scales.m[r]);
    std::memcpy(group + 2 * r, &s, sizeof s);
    std::memcpy(group + kAffineScales / 2 + 2 * r, &m, sizeof m);
  }
  const size_t block_bytes =
      (TileBytes(format, affine.group) - kAffineScales) * kBlock / affine.group;
  std::memset(group + kAffineScales, 0, affine.group / kBlock * block_bytes);
  for (size_t k = 0; k < n; ++k) {
    unsigned char* block = group + kAffineScales + k / kBlock * block_bytes;
    const size_t j = k % kBlock;
    for (size_t r = 0; r < kTileRows; ++r) {
      const auto code = static_cast<unsigned>(static_cast<int>(codes[k][r]));
      const size_t lane = 4 * r + j % 4;
      if (block_bytes == kCodesQ8A) {
        block[64 * (j / 4) + lane] = static_cast<unsigned char>(code);
        continue;
      }
      block[64 * (j / 8) + lane] |= static_cast<unsigned char>((code & 15u) << (j % 8 < 4 ? 0 : 4));
      if (block_bytes == kCodesQ6A) {
        block[256 + 64 * (j / 16) + lane] |=
            static_cast<unsigned char>((code >> 4) << (2 * (j / 4 % 4)));
      }
    }
  }
}

}  // namespace krafla

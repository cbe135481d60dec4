// See feedback.h. With H = T' T the loss of a row with errors e = w - w' is the sum over k of
// (T[k][k] d_k)^2, d_k being the rounding error of the value w_k + sum over j < k of
// T[k][j] e_j / T[k][k] that column k should have by then. Tiles of 16 rows are independent; their
// rows are lanes. The scale of a group is the best of 19 by that loss itself, scale and zero of an
// affine one the best of 9, each tried by rounding the whole group with it.
#include "lib/calibrate/feedback.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "lib/quant/affine.h"
#include "lib/quant/half.h"
#include "lib/quant/lanes.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

constexpr size_t kTilesTogether = 4;  // that share the reading of T
constexpr float kMaxF16 = 65504.0f;

// Codes low .. high, values s * code + m; m is 0 where the format has none.
AffineFormat GroupOf(Format format) {
  return format == Format::kQ4 ? AffineFormat{kBlock, -8, 7} : AffineOf(format);
}

// A group's columns of T: what couples them, and the weight of each rounding error.
struct GroupFactor {
  size_t n;
  float coupling[kMaxGroup][kMaxGroup];  // [k][j] = T[k][j] / T[k][k], j < k
  float inverse[kMaxGroup];              // 1 / T[k][k]
  Lanes weight[kMaxGroup];               // T[k][k]^2
};

void FillFactor(const Gram& gram, size_t begin, size_t n, GroupFactor* factor) {
  factor->n = n;
  for (size_t k = 0; k < n; ++k) {
    const float* row = gram.row(begin + k) + begin;
    factor->inverse[k] = 1 / row[k];
    factor->weight[k] = Lanes{} + row[k] * row[k];
    for (size_t j = 0; j < k; ++j) factor->coupling[k][j] = row[j] * factor->inverse[k];
  }
}

struct GroupValues {
  Lanes original[kMaxGroup];
  Lanes base[kMaxGroup];    // with the errors of the groups before
  Lanes errors[kMaxGroup];  // original - value
  Lanes codes[kMaxGroup];
};

Lanes Target(const GroupFactor& factor, const GroupValues& values, size_t k) {
  Lanes target = values.base[k];
  for (size_t j = 0; j < k; ++j) target += factor.coupling[k][j] * values.errors[j];
  return target;
}

// Rounds the group with these scales; the loss of each row.
Lanes Round(const AffineFormat& format, const GroupFactor& factor, const AffineScales& scales,
            GroupValues* values) {
  Lanes loss = {};
  for (size_t k = 0; k < factor.n; ++k) {
    const Lanes target = Target(factor, *values, k);
    const Lanes code = AffineCode(format, scales, target);
    const Lanes value = code * scales.s + scales.m;
    const Lanes off = target - value;
    loss += factor.weight[k] * (off * off);
    values->codes[k] = code;
    values->errors[k] = values->original[k] - value;
  }
  return loss;
}

// What the columns should be if none of this group were rounded.
void Compensated(const GroupFactor& factor, GroupValues* values, Lanes out[kMaxGroup]) {
  for (size_t k = 0; k < factor.n; ++k) {
    out[k] = Target(factor, *values, k);
    values->errors[k] = values->original[k] - out[k];
  }
}

Lanes RoundedToF16(Lanes x) {
  for (size_t r = 0; r < kTileRows; ++r) {
    x[r] = F16ToF32(F32ToF16(Clamp(x[r], -kMaxF16, kMaxF16)));
  }
  return x;
}

// Least-squares scale of x rounded with an inverse scale.
Lanes FittedScale(const AffineFormat& format, const GroupFactor& factor, const Lanes* x,
                  const Lanes& inverse) {
  Lanes xq = {};
  Lanes qq = {};
  for (size_t k = 0; k < factor.n; ++k) {
    const Lanes q = RoundLanes(ClampLanes(x[k] * inverse, format.low, format.high));
    const Lanes wq = factor.weight[k] * q;
    xq += wq * x[k];
    qq += wq * q;
  }
  return qq > 0.0f ? RoundedToF16(xq / qq) : Lanes{};
}

// -1 / the element of the largest magnitude; 0 below f16's smallest scale.
Lanes PerMax(const Lanes* x, size_t n) {
  Lanes largest = {};
  Lanes max = {};
  for (size_t k = 0; k < n; ++k) {
    const Lanes magnitude = x[k] < 0.0f ? -x[k] : x[k];
    max = magnitude > largest ? x[k] : max;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest > 0x1p-24f ? -1.0f / max : Lanes{};
}

AffineScales BestScales(Format format, const GroupFactor& factor, GroupValues* values) {
  const AffineFormat group = GroupOf(format);
  Lanes x[kMaxGroup];
  Compensated(factor, values, x);
  const bool symmetric = format == Format::kQ4;
  const Lanes per_max = symmetric ? PerMax(x, factor.n) : Lanes{};
  AffineScales best = {};
  Lanes best_loss = {};
  for (int i = 0; i < (symmetric ? 19 : kAffineStarts); ++i) {
    AffineScales scales = {};
    if (symmetric) {
      const Lanes inverse = (7.1f + 0.1f * static_cast<float>(i)) * per_max;
      scales.s = FittedScale(group, factor, x, inverse);
    } else {
      scales = FitAffineFrom(group, i, x, factor.weight, factor.n);
    }
    const Lanes loss = Round(group, factor, scales, values);
    const auto better = i == 0 ? loss == loss : loss < best_loss;
    best.s = better ? scales.s : best.s;
    best.m = better ? scales.m : best.m;
    best_loss = better ? loss : best_loss;
  }
  return best;
}

void StoreQ4(const GroupValues& values, const Lanes& scale, unsigned char* block) {
  for (size_t r = 0; r < kTileRows; ++r) {
    int8_t q[kBlock];
    for (size_t k = 0; k < kBlock; ++k) q[k] = static_cast<int8_t>(values.codes[k][r]);
    StoreBlockQ4(block, r, F32ToF16(scale[r]), q);
  }
}

struct Job {
  Format format;
  const Gram& gram;
  size_t n_tiles;
  float* weights;
  unsigned char* tiles;
  std::vector<float>* errors;  // one a thread: [kTilesTogether][n][16]
};

void QuantizeGroup(const Job& job, size_t begin, const GroupFactor& factor, size_t tile,
                   float* errors) {
  const size_t n = job.gram.n();
  float carried[kMaxGroup * kTileRows] = {};
  if (begin > 0) {
    kernels::matmul_f32(errors, 0, 1, begin, job.gram.row(begin), job.gram.ld(), factor.n, carried,
                        kTileRows);
  }
  float* weights = job.weights + tile * n * kTileRows + begin * kTileRows;
  GroupValues values = {};
  for (size_t k = 0; k < factor.n; ++k) {
    values.original[k] = LoadLanes(weights + k * kTileRows);
    values.base[k] = values.original[k] + factor.inverse[k] * LoadLanes(carried + k * kTileRows);
  }
  const AffineScales scales = BestScales(job.format, factor, &values);
  const AffineFormat group = GroupOf(job.format);
  Round(group, factor, scales, &values);
  for (size_t k = 0; k < factor.n; ++k) {
    StoreLanes(errors + (begin + k) * kTileRows, values.errors[k]);
    StoreLanes(weights + k * kTileRows, values.codes[k] * scales.s + scales.m);
  }
  unsigned char* at = job.tiles + tile * TileBytes(job.format, n) +
                      begin / group.group * TileBytes(job.format, group.group);
  if (job.format == Format::kQ4) {
    StoreQ4(values, scales.s, at);
  } else {
    StoreGroup(job.format, scales, values.codes, factor.n, at);
  }
}

void QuantizeTiles(void* context, size_t first, size_t last, size_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  const size_t n = job.gram.n();
  const size_t width = GroupOf(job.format).group;
  float* errors = job.errors[thread].data();
  GroupFactor factor;
  for (size_t i = first; i < last; ++i) {
    const size_t tile = i * kTilesTogether;
    const size_t n_tiles = std::min(kTilesTogether, job.n_tiles - tile);
    for (size_t begin = 0; begin < n; begin += width) {
      FillFactor(job.gram, begin, std::min(width, n - begin), &factor);
      for (size_t t = 0; t < n_tiles; ++t) {
        QuantizeGroup(job, begin, factor, tile + t, errors + t * n * kTileRows);
      }
    }
  }
}

}  // namespace

bool HasFeedback(Format format) { return GroupOf(format).group != 0; }

Status QuantizeWithFeedback(Format format, const Gram& factor, size_t rows, float* weights,
                            void* tiles, ThreadPool& pool) {
  if (!HasFeedback(format)) {
    return UnsupportedError("calibration: format {} has no error feedback", FormatName(format));
  }
  const size_t n = factor.n();
  std::vector<std::vector<float>> errors(pool.size(),
                                         std::vector<float>(kTilesTogether * n * kTileRows));
  const size_t n_tiles = (rows + kTileRows - 1) / kTileRows;
  Job job{format, factor, n_tiles, weights, static_cast<unsigned char*>(tiles), errors.data()};
  pool.Run((n_tiles + kTilesTogether - 1) / kTilesTogether, 1, QuantizeTiles, &job);
  return OkStatus();
}

namespace {

struct MoveJob {
  const Gram& gram;
  const float* cross;
  float* weights;
  float trust;
  std::vector<float>* scratch;  // one a thread: [n][16]
};

// T' u = v in place of v, from the last up.
void SolveUpper(const Gram& gram, float* v) {
  for (size_t c = gram.n(); c-- > 0;) {
    const float* row = gram.row(c);
    const Lanes u = LoadLanes(v + c * kTileRows) * (1 / row[c]);
    StoreLanes(v + c * kTileRows, u);
    for (size_t j = 0; j < c; ++j) {
      StoreLanes(v + j * kTileRows, LoadLanes(v + j * kTileRows) - row[j] * u);
    }
  }
}

// T z = u in place of u, a block at a time.
void SolveLower(const Gram& gram, float* u) {
  for (size_t begin = 0; begin < gram.n(); begin += kBlock) {
    const size_t n = std::min(kBlock, gram.n() - begin);
    float before[kBlock * kTileRows] = {};
    if (begin > 0) {
      kernels::matmul_f32(u, 0, 1, begin, gram.row(begin), gram.ld(), n, before, kTileRows);
    }
    for (size_t k = 0; k < n; ++k) {
      const float* row = gram.row(begin + k);
      float* at = u + (begin + k) * kTileRows;
      Lanes z = LoadLanes(at) - LoadLanes(before + k * kTileRows);
      for (size_t j = begin; j < begin + k; ++j) z -= row[j] * LoadLanes(u + j * kTileRows);
      StoreLanes(at, z * (1 / row[begin + k]));
    }
  }
}

void MoveTiles(void* context, size_t first, size_t last, size_t thread) {
  const MoveJob& job = *static_cast<const MoveJob*>(context);
  const size_t n = job.gram.n();
  float* v = job.scratch[thread].data();
  for (size_t tile = first; tile < last; ++tile) {
    float* weights = job.weights + tile * n * kTileRows;
    kernels::matmul_f32(weights, 0, 1, n, job.cross, job.gram.ld(), n, v, kTileRows);
    SolveUpper(job.gram, v);
    SolveLower(job.gram, v);
    for (size_t i = 0; i < n * kTileRows; i += kTileRows) {
      StoreLanes(weights + i, LoadLanes(weights + i) + job.trust * LoadLanes(v + i));
    }
  }
}

}  // namespace

void MoveToInputs(const Gram& factor, const std::vector<float>& cross, size_t rows, float* weights,
                  float trust, ThreadPool& pool) {
  std::vector<std::vector<float>> scratch(pool.size(), std::vector<float>(factor.n() * kTileRows));
  MoveJob job{factor, cross.data(), weights, trust, scratch.data()};
  pool.Run((rows + kTileRows - 1) / kTileRows, 1, MoveTiles, &job);
}

}  // namespace krafla

// See feedback.h. With H = T' T the loss of a row with errors e = w - w' is the sum over k of
// (T[k][k] d_k)^2, d_k being the rounding error of the value w_k + sum over j < k of
// T[k][j] e_j / T[k][k] that column k should have by then. Tiles of 16 rows are independent; their
// rows are lanes. A block's scale is the best of 19 by that loss itself, each tried by rounding the
// whole block with it.
#include "lib/calibrate/feedback.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/kernels.h"
#include "lib/calibrate/lanes.h"
#include "lib/quant/half.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

constexpr size_t kTilesTogether = 4;  // that share the reading of T
constexpr float kMaxF16 = 65504.0f;

// A block's columns of T: what couples them, and the weight of each rounding error.
struct BlockFactor {
  size_t n;
  float coupling[kBlock][kBlock];  // [k][j] = T[k][j] / T[k][k], j < k
  float inverse[kBlock];           // 1 / T[k][k]
  float weight[kBlock];            // T[k][k]^2
};

BlockFactor FactorOf(const Gram& factor, size_t begin) {
  BlockFactor block = {};
  block.n = std::min(kBlock, factor.n() - begin);
  for (size_t k = 0; k < block.n; ++k) {
    const float* row = factor.row(begin + k) + begin;
    block.inverse[k] = 1 / row[k];
    block.weight[k] = row[k] * row[k];
    for (size_t j = 0; j < k; ++j) block.coupling[k][j] = row[j] * block.inverse[k];
  }
  return block;
}

struct BlockValues {
  Lanes original[kBlock];
  Lanes base[kBlock];    // with the errors of the blocks before
  Lanes errors[kBlock];  // original - value
  Lanes codes[kBlock];
};

Lanes Target(const BlockFactor& factor, const BlockValues& values, size_t k) {
  Lanes target = values.base[k];
  for (size_t j = 0; j < k; ++j) target += factor.coupling[k][j] * values.errors[j];
  return target;
}

Lanes RoundedToF16(Lanes x) {
  for (size_t r = 0; r < kTileRows; ++r) {
    x[r] = F16ToF32(F32ToF16(Clamp(x[r], -kMaxF16, kMaxF16)));
  }
  return x;
}

Lanes InverseOf(const Lanes& scale) { return scale != 0.0f ? 1.0f / scale : Lanes{}; }

// Rounds the block with this scale; the loss of each row.
Lanes Round(const BlockFactor& factor, const Lanes& scale, BlockValues* values) {
  const Lanes inverse = InverseOf(scale);
  Lanes loss = {};
  for (size_t k = 0; k < factor.n; ++k) {
    const Lanes target = Target(factor, *values, k);
    const Lanes code = RoundLanes(ClampLanes(target * inverse, -8, 7));
    const Lanes value = code * scale;
    const Lanes off = target - value;
    loss += factor.weight[k] * (off * off);
    values->codes[k] = code;
    values->errors[k] = values->original[k] - value;
  }
  return loss;
}

// What the columns should be if none of this block were rounded.
void Compensated(const BlockFactor& factor, BlockValues* values, Lanes out[kBlock]) {
  for (size_t k = 0; k < factor.n; ++k) {
    out[k] = Target(factor, *values, k);
    values->errors[k] = values->original[k] - out[k];
  }
}

// Least-squares scale of x rounded with an inverse scale.
Lanes FittedScale(const BlockFactor& factor, const Lanes x[kBlock], const Lanes& inverse) {
  Lanes xq = {};
  Lanes qq = {};
  for (size_t k = 0; k < factor.n; ++k) {
    const Lanes q = RoundLanes(ClampLanes(x[k] * inverse, -8, 7));
    const Lanes wq = factor.weight[k] * q;
    xq += wq * x[k];
    qq += wq * q;
  }
  return qq > 0.0f ? xq / qq : Lanes{};
}

Lanes BestScale(const BlockFactor& factor, BlockValues* values) {
  Lanes x[kBlock];
  Compensated(factor, values, x);
  Lanes largest = {};
  Lanes max = {};
  for (size_t k = 0; k < factor.n; ++k) {
    const Lanes magnitude = x[k] < 0.0f ? -x[k] : x[k];
    max = magnitude > largest ? x[k] : max;
    largest = magnitude > largest ? magnitude : largest;
  }
  // A scale below f16's smallest would be zero.
  const Lanes per_max = largest > 0x1p-24f ? -1.0f / max : Lanes{};
  Lanes best = {};
  Lanes best_loss = {};
  for (int step = -9; step <= 9; ++step) {
    const Lanes inverse = (8 + 0.1f * static_cast<float>(step)) * per_max;
    const Lanes scale = RoundedToF16(FittedScale(factor, x, inverse));
    const Lanes loss = Round(factor, scale, values);
    const auto better = step == -9 ? loss == loss : loss < best_loss;
    best = better ? scale : best;
    best_loss = better ? loss : best_loss;
  }
  return best;
}

void StoreQ4(const BlockValues& values, const Lanes& scale, unsigned char* block) {
  for (size_t r = 0; r < kTileRows; ++r) {
    int8_t q[kBlock];
    for (size_t k = 0; k < kBlock; ++k) q[k] = static_cast<int8_t>(values.codes[k][r]);
    StoreBlockQ4(block, r, F32ToF16(scale[r]), q);
  }
}

struct Job {
  const Gram& factor;
  size_t n_tiles;
  float* weights;
  unsigned char* tiles;
  std::vector<float>* errors;  // one a thread: [kTilesTogether][n][16]
};

void QuantizeBlock(const Job& job, size_t begin, const BlockFactor& factor, size_t tile,
                   float* errors) {
  const size_t n = job.factor.n();
  float carried[kBlock * kTileRows] = {};
  if (begin > 0) {
    kernels::matmul_f32(errors, 0, 1, begin, job.factor.row(begin), job.factor.ld(), factor.n,
                        carried, kTileRows);
  }
  float* weights = job.weights + tile * n * kTileRows + begin * kTileRows;
  BlockValues values = {};
  for (size_t k = 0; k < factor.n; ++k) {
    values.original[k] = LoadLanes(weights + k * kTileRows);
    values.base[k] = values.original[k] + factor.inverse[k] * LoadLanes(carried + k * kTileRows);
  }
  const Lanes scale = BestScale(factor, &values);
  Round(factor, scale, &values);
  for (size_t k = 0; k < factor.n; ++k) {
    StoreLanes(errors + (begin + k) * kTileRows, values.errors[k]);
    StoreLanes(weights + k * kTileRows, values.codes[k] * scale);
  }
  const size_t n_blocks = (n + kBlock - 1) / kBlock;
  StoreQ4(values, scale, job.tiles + (tile * n_blocks + begin / kBlock) * kTileBlockQ4);
}

void QuantizeTiles(void* context, size_t first, size_t last, size_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  const size_t n = job.factor.n();
  float* errors = job.errors[thread].data();
  for (size_t group = first; group < last; ++group) {
    const size_t tile = group * kTilesTogether;
    const size_t n_tiles = std::min(kTilesTogether, job.n_tiles - tile);
    for (size_t begin = 0; begin < n; begin += kBlock) {
      const BlockFactor factor = FactorOf(job.factor, begin);
      for (size_t i = 0; i < n_tiles; ++i) {
        QuantizeBlock(job, begin, factor, tile + i, errors + i * n * kTileRows);
      }
    }
  }
}

}  // namespace

bool HasFeedback(Format format) { return format == Format::kQ4; }

Status QuantizeWithFeedback(Format format, const Gram& factor, size_t rows, float* weights,
                            void* tiles, ThreadPool& pool) {
  if (!HasFeedback(format)) {
    return UnsupportedError("calibration: format {} has no error feedback", FormatName(format));
  }
  const size_t n = factor.n();
  std::vector<std::vector<float>> errors(pool.size(),
                                         std::vector<float>(kTilesTogether * n * kTileRows));
  const size_t n_tiles = (rows + kTileRows - 1) / kTileRows;
  Job job{factor, n_tiles, weights, static_cast<unsigned char*>(tiles), errors.data()};
  pool.Run((n_tiles + kTilesTogether - 1) / kTilesTogether, 1, QuantizeTiles, &job);
  return OkStatus();
}

}  // namespace krafla

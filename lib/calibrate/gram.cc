// See gram.h. The factor is that of Cholesky's method from the last row up, so that H = T' T and
// the error of column k is weighted by T[k][k] once columns 0 .. k - 1 are fixed and those after k
// are free. The update of what remains, nearly all of the work, is a product of matrices.
#include "lib/calibrate/gram.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"
#include "lib/quant/lanes.h"

namespace krafla {
namespace {

constexpr size_t kRowsAtOnce = 256;  // activations whose products are summed in one go
constexpr size_t kPanel = 64;        // rows of T that are made together
constexpr size_t kPieceRows = 256;   // of a strip of outputs
constexpr size_t kSolveColumns = 256;

size_t Pad16(size_t n) { return (n + 15) / 16 * 16; }

}  // namespace

Gram::Gram(size_t n) : n_(n), ld_(Pad16(n)), h_(n * Pad16(n)) {}

struct Gram::Product {
  Gram* gram;
  size_t k;
  size_t n;
  float sign;
  bool lower;
  float* out;
};

// out[i][j] += sign * sum over r < k of a[r][i] b[r][j], for i, j < n; lower: for j <= i.
void Gram::AddProduct(Rows a, Rows b, size_t k, size_t n, float sign, bool lower, float* out,
                      ThreadPool& pool) {
  const size_t n_strips = (n + 15) / 16;
  strips_.assign(n_strips * k * 16, 0);
  transposed_.resize(n * k);
  outputs_.resize(pool.size() * kPieceRows * 16);
  for (size_t r = 0; r < k; ++r) {
    for (size_t i = 0; i < n; ++i) {
      strips_[(i / 16 * k + r) * 16 + i % 16] = b.data[r * b.ld + i];
      transposed_[i * k + r] = a.data[r * a.ld + i];
    }
  }
  Product product{this, k, n, sign, lower, out};
  pool.Run(
      n_strips, 1,
      [](void* context, size_t begin, size_t end, size_t thread) {
        const Product& p = *static_cast<const Product*>(context);
        float* y = p.gram->outputs_.data() + thread * kPieceRows * 16;
        for (size_t strip = begin; strip < end; ++strip) {
          const float* tile = p.gram->strips_.data() + strip * p.k * 16;
          for (size_t i = p.lower ? strip * 16 : 0; i < p.n; i += kPieceRows) {
            const size_t n_rows = std::min(kPieceRows, p.n - i);
            kernels::matmul_f32(tile, 0, 1, p.k, p.gram->transposed_.data() + i * p.k, p.k, n_rows,
                                y, 16);
            for (size_t row = 0; row < n_rows; ++row) {
              float* to = p.out + (i + row) * p.gram->ld_ + strip * 16;
              StoreLanes(to, LoadLanes(to) + p.sign * LoadLanes(y + row * 16));
            }
          }
        }
      },
      &product);
}

void Gram::Add(const float* x, size_t ldx, size_t n_rows, ThreadPool& pool) {
  for (size_t row = 0; row < n_rows; row += kRowsAtOnce) {
    const Rows rows{x + row * ldx, ldx};
    AddProduct(rows, rows, std::min(kRowsAtOnce, n_rows - row), n_, 1, true, h_.data(), pool);
  }
}

void Gram::AddCross(const float* x, size_t ldx, const float* d, size_t ldd, size_t n_rows,
                    std::vector<float>* cross, ThreadPool& pool) {
  cross->resize(n_ * ld_);
  for (size_t row = 0; row < n_rows; row += kRowsAtOnce) {
    AddProduct({x + row * ldx, ldx}, {d + row * ldd, ldd}, std::min(kRowsAtOnce, n_rows - row), n_,
               1, false, cross->data(), pool);
  }
}

// Rows [begin, end) of T, their columns from `begin` on. False: not positive.
bool Gram::FactorBlock(size_t begin, size_t end) {
  const size_t m = end - begin;
  double t[kPanel][kPanel];
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j <= i; ++j) t[i][j] = h_[(begin + i) * ld_ + begin + j];
  }
  for (size_t c = m; c-- > 0;) {
    if (!(t[c][c] > 0)) return false;
    const double diagonal = std::sqrt(t[c][c]);
    t[c][c] = diagonal;
    for (size_t j = 0; j < c; ++j) t[c][j] /= diagonal;
    for (size_t i = 0; i < c; ++i) {
      for (size_t j = 0; j <= i; ++j) t[i][j] -= t[c][i] * t[c][j];
    }
  }
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      h_[(begin + i) * ld_ + begin + j] = static_cast<float>(t[i][j]);
    }
  }
  return true;
}

// Rows [begin, end) of T, their columns before `begin`: T_PP' X = H_P, from the last row up.
void Gram::SolveRows(size_t begin, size_t end, ThreadPool& pool) {
  struct Job {
    Gram* gram;
    size_t begin;
    size_t end;
  } job{this, begin, end};
  pool.Run((begin + kSolveColumns - 1) / kSolveColumns, 1,
           [](void* context, size_t first, size_t last, size_t) {
             const Job& j = *static_cast<const Job*>(context);
             const size_t ld = j.gram->ld_;
             float* h = j.gram->h_.data();
             const size_t from = first * kSolveColumns;
             const size_t to =
                 std::min(last * kSolveColumns, j.begin);  // begin is a multiple of 16
             for (size_t c = j.end; c-- > j.begin;) {
               const float inverse = 1 / h[c * ld + c];
               for (size_t col = from; col < to; col += 16) {
                 StoreLanes(h + c * ld + col, LoadLanes(h + c * ld + col) * inverse);
               }
               for (size_t i = j.begin; i < c; ++i) {
                 const float factor = h[c * ld + i];
                 for (size_t col = from; col < to; col += 16) {
                   float* at = h + i * ld + col;
                   StoreLanes(at, LoadLanes(at) - factor * LoadLanes(h + c * ld + col));
                 }
               }
             }
           },
           &job);
}

Status Gram::Factor(double damp, double shrink, ThreadPool& pool) {
  double trace = 0;
  for (size_t i = 0; i < n_; ++i) trace += h_[i * ld_ + i];
  // An input that is always zero has no errors to feed back.
  const double mean = trace > 0 ? trace / static_cast<double>(n_) : 1;
  const auto added = static_cast<float>(std::max(damp * mean, 1e-30));
  const auto scale = static_cast<float>(1 + shrink);
  for (size_t i = 0; i < n_; ++i) h_[i * ld_ + i] = scale * h_[i * ld_ + i] + added;
  for (size_t end = n_; end > 0;) {
    const size_t begin = (end - 1) / kPanel * kPanel;
    if (!FactorBlock(begin, end)) {
      return InternalError("calibration: the input's correlations at {} are not positive", begin);
    }
    SolveRows(begin, end, pool);
    const Rows rows{row(begin), ld_};
    if (begin > 0) AddProduct(rows, rows, end - begin, begin, -1, true, h_.data(), pool);
    end = begin;
  }
  return OkStatus();
}

}  // namespace krafla

// H = sum of x x' over the rows x that a matrix is multiplied with, and its triangular factor: what
// error feedback needs to know of a matrix's input. Blocked, over the f32 product kernel; sums have
// one order, so the bits do not depend on threads or instruction set.
#ifndef KRAFLA_LIB_CALIBRATE_GRAM_H_
#define KRAFLA_LIB_CALIBRATE_GRAM_H_

#include <cstddef>
#include <vector>

#include "lib/base/status.h"
#include "lib/runtime/thread_pool.h"

namespace krafla {

class Gram {
 public:
  explicit Gram(size_t n);

  size_t n() const { return n_; }
  size_t ld() const { return ld_; }
  void Add(const float* x, size_t ldx, size_t n_rows, ThreadPool& pool);
  // *cross, [n][ld]: the sum of x d' over rows x and d, to what it holds; empty: zeros.
  void AddCross(const float* x, size_t ldx, const float* d, size_t ldd, size_t n_rows,
                std::vector<float>* cross, ThreadPool& pool);

  // Once: H + shrink * diagonal(H) + damp * mean(diagonal) = T' T with T lower triangular, in place
  // of H: correlations count as if they were 1 / (1 + shrink) of what they are. InternalError: H
  // is not finite.
  Status Factor(double damp, double shrink, ThreadPool& pool);
  // Of T, after Factor: row(k)[j], j <= k, meaningful; row(k)[k] > 0.
  const float* row(size_t k) const { return h_.data() + k * ld_; }

 private:
  struct Product;
  struct Rows {
    const float* data;
    size_t ld;
  };
  void AddProduct(Rows a, Rows b, size_t k, size_t n, float sign, bool lower, float* out,
                  ThreadPool& pool);
  bool FactorBlock(size_t begin, size_t end);
  void SolveRows(size_t begin, size_t end, ThreadPool& pool);

  size_t n_;
  size_t ld_;             // n rounded up to 16
  std::vector<float> h_;  // [n][ld], the lower triangle and the 16 x 16 blocks on the diagonal
  std::vector<float> strips_;
  std::vector<float> transposed_;
  std::vector<float> outputs_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CALIBRATE_GRAM_H_

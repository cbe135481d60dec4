// The blocked sum and its factor against plain loops in double, and the same bits for any threads.
#include "lib/calibrate/gram.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/support/catch.h"

namespace krafla {
namespace {

std::vector<float> Rows(size_t n_rows, size_t ld) {
  std::mt19937 random(7);
  std::vector<float> x(n_rows * ld);
  for (float& v : x) v = static_cast<float>(random() >> 8) * 0x1p-24F - 0.3F;
  return x;
}

std::unique_ptr<ThreadPool> Pool(int32_t threads) {
  ThreadOptions options;
  options.threads = threads;
  auto pool = ThreadPool::Create(options);
  REQUIRE(pool.ok());
  return *std::move(pool);
}

}  // namespace

TEST_CASE("the factor multiplies back to the sum") {
  const auto one = Pool(1);
  const auto three = Pool(3);
  for (const size_t n : {1, 15, 16, 63, 64, 65, 100, 300}) {
    const size_t n_rows = 600;
    const size_t ldx = n + 3;
    const std::vector<float> x = Rows(n_rows, ldx);
    std::vector<double> want(n * n);
    double trace = 0;
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (size_t r = 0; r < n_rows; ++r) sum += double{x[r * ldx + i]} * x[r * ldx + j];
        want[i * n + j] = sum;
        if (i == j) trace += sum;
      }
    }
    const double damp = 0.01;
    for (size_t i = 0; i < n; ++i) {
      want[i * n + i] = 1.3 * want[i * n + i] + damp * trace / static_cast<double>(n);
    }

    Gram gram(n);
    gram.Add(x.data(), ldx, n_rows, *one);
    REQUIRE(gram.Factor(damp, 0.3, *one).ok());
    Gram again(n);
    again.Add(x.data(), ldx, n_rows, *three);
    REQUIRE(again.Factor(damp, 0.3, *three).ok());
    for (size_t i = 0; i < n; ++i) {
      REQUIRE(gram.row(i)[i] > 0);
      for (size_t j = 0; j <= i; ++j) {
        double sum = 0;  // T' T
        for (size_t k = i; k < n; ++k) sum += double{gram.row(k)[i]} * gram.row(k)[j];
        REQUIRE(std::fabs(sum - want[i * n + j]) < 2e-5 * trace / static_cast<double>(n));
        REQUIRE(gram.row(i)[j] == again.row(i)[j]);
      }
    }
  }
}

TEST_CASE("an input of zeros has a factor, one that is not finite has none") {
  const auto pool = Pool(1);
  std::vector<float> x(40 * 20);
  Gram zeros(20);
  zeros.Add(x.data(), 20, 40, *pool);
  CHECK(zeros.Factor(0.01, 0, *pool).ok());
  x[7] = std::numeric_limits<float>::quiet_NaN();
  Gram bad(20);
  bad.Add(x.data(), 20, 40, *pool);
  CHECK_FALSE(bad.Factor(0.01, 0, *pool).ok());
}

}  // namespace krafla

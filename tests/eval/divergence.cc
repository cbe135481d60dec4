// Divergence of two rows of logits against the formula in long double, and the statistics of many.
#include "lib/eval/divergence.h"

#include <cmath>
#include <random>

#include "tests/support/catch.h"

namespace krafla {
namespace {

std::vector<float> Logits(uint32_t seed, size_t n, float spread) {
  std::mt19937 random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = spread * static_cast<float>(random() >> 8) * 0x1p-24F;
  return x;
}

long double LogSum(const std::vector<float>& x) {
  long double sum = 0;
  for (const float v : x) sum += std::exp(static_cast<long double>(v));
  return std::log(sum);
}

}  // namespace

TEST_CASE("divergence is that of the formula") {
  std::vector<float> scratch;
  for (const size_t n : {size_t{1}, size_t{15}, size_t{16}, size_t{1003}}) {
    const std::vector<float> p = Logits(1, n, 20);
    std::vector<float> q = p;
    const std::vector<float> noise = Logits(2, n, 1);
    for (size_t i = 0; i < n; ++i) q[i] += noise[i] + 3;
    const long double p_log = LogSum(p);
    const long double q_log = LogSum(q);
    long double kl = 0;
    for (size_t i = 0; i < n; ++i) kl += std::exp(p[i] - p_log) * ((p[i] - p_log) - (q[i] - q_log));
    const auto target = static_cast<int32_t>(n / 2);
    const Divergence d = Compare(p, q, target, 10, &scratch);
    CHECK(std::fabs(d.kl - static_cast<double>(kl)) < 1e-6);
    CHECK(std::fabs(d.reference_nll - static_cast<double>(p_log - p[n / 2])) < 1e-6);
    CHECK(std::fabs(d.nll - static_cast<double>(q_log - q[n / 2])) < 1e-6);
    const Divergence same = Compare(p, p, target, 1, &scratch);
    CHECK(same.kl == 0);
    CHECK(same.same_top);
    CHECK(same.in_top_k);
  }
}

TEST_CASE("first choices: ties go to the lower id") {
  std::vector<float> scratch;
  const std::vector<float> p = {0, 5, 5, 1};
  const std::vector<float> q = {2, 1, 3, 1};
  const Divergence d = Compare(p, q, 0, 3, &scratch);
  CHECK_FALSE(d.same_top);
  CHECK(d.in_top_k);  // id 1 is third: after 2 and 0, before the equal 3
  CHECK_FALSE(Compare(p, q, 0, 2, &scratch).in_top_k);
}

TEST_CASE("statistics of positions and chunks") {
  DriftSums sums;
  for (int i = 0; i < 200; ++i) {
    Divergence d;
    d.kl = i < 100 ? 0.25 : 0.75;
    d.reference_nll = 1;
    d.nll = i < 100 ? 1.5 : 2.5;
    d.same_top = i % 2 == 0;
    d.in_top_k = true;
    sums.Add(d);
    if (i % 100 == 99) sums.EndChunk();
  }
  const DriftStatistics s = sums.Finish();
  CHECK(s.targets == 200);
  CHECK(s.kl_mean == 0.5);
  CHECK(s.kl_error == Approx(0.25));  // means 0.25 and 0.75
  CHECK(s.kl_median == 0.75);
  CHECK(s.kl_p99 == 0.75);
  CHECK(s.kl_max == 0.75);
  CHECK(s.top1 == 0.5);
  CHECK(s.top_k == 1);
  CHECK(s.reference_perplexity == Approx(std::exp(1.0)));
  CHECK(s.perplexity == Approx(std::exp(2.0)));
  CHECK(s.nll_difference == Approx(1));
  CHECK(s.nll_difference_error == Approx(0.5));
}

}  // namespace krafla

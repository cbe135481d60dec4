// See divergence.h. A position of a large vocabulary is a quarter of a million exponentials: the
// vector kernels do them, 16 partial sums take them in.
#include "lib/eval/divergence.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"
#include "lib/base/math.h"

namespace krafla {
namespace {

constexpr size_t kLanes = 16;

double Fold(double s[kLanes]) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) s[l] += s[l + half];
  }
  return s[0];
}

size_t Largest(std::span<const float> x) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i) best = x[i] > x[best] ? i : best;
  return best;
}

// exp(x - max) into *out.
void Exponentials(std::span<const float> x, float max, std::vector<float>* out) {
  out->resize(x.size());
  for (size_t i = 0; i < x.size(); ++i) (*out)[i] = x[i] - max;
  kernels::map_exp(out->data(), x.size(), out->data());
}

double Sum(std::span<const float> x) {
  double s[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= x.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) s[l] += x[i + l];
  }
  for (; i < x.size(); ++i) s[i % kLanes] += x[i];
  return Fold(s);
}

// Sum of e (a - b).
double WeightedDifference(std::span<const float> e, std::span<const float> a,
                          std::span<const float> b) {
  double s[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= e.size(); i += kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      s[l] += static_cast<double>(e[i + l]) * (static_cast<double>(a[i + l]) - b[i + l]);
    }
  }
  for (; i < e.size(); ++i) {
    s[i % kLanes] += static_cast<double>(e[i]) * (static_cast<double>(a[i]) - b[i]);
  }
  return Fold(s);
}

bool IsInTop(std::span<const float> x, size_t id, size_t k) {
  size_t before = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    before += static_cast<size_t>(x[i] > x[id] || (x[i] == x[id] && i < id));
  }
  return before < k;
}

double Mean(std::span<const double> x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// Of the mean of x.
double StandardError(std::span<const double> x) {
  if (x.size() < 2) return 0;
  const double mean = Mean(x);
  double squares = 0;
  for (const double v : x) squares += (v - mean) * (v - mean);
  const auto n = static_cast<double>(x.size());
  return std::sqrt(squares / (n - 1) / n);
}

}  // namespace

Divergence Compare(std::span<const float> reference, std::span<const float> logits, int32_t target,
                   size_t top_k, std::vector<float>* scratch) {
  const auto at = static_cast<size_t>(target);
  const size_t p_top = Largest(reference);
  const size_t q_top = Largest(logits);
  Exponentials(logits, logits[q_top], scratch);
  const double q_log = Log(Sum(*scratch)) + logits[q_top];
  Exponentials(reference, reference[p_top], scratch);
  const double p_sum = Sum(*scratch);
  const double p_log = Log(p_sum) + reference[p_top];

  Divergence result;
  // Rounding may leave a little below zero where the rows are equal.
  result.kl =
      std::max(0.0, WeightedDifference(*scratch, reference, logits) / p_sum - (p_log - q_log));
  result.reference_nll = p_log - reference[at];
  result.nll = q_log - logits[at];
  result.same_top = p_top == q_top;
  result.in_top_k = IsInTop(logits, p_top, top_k);
  return result;
}

void DriftSums::Add(const Divergence& position) {
  kl_.push_back(static_cast<float>(position.kl));
  reference_nll_ += position.reference_nll;
  nll_ += position.nll;
  same_top_ += position.same_top ? 1 : 0;
  in_top_k_ += position.in_top_k ? 1 : 0;
  chunk_difference_ += position.nll - position.reference_nll;
}

void DriftSums::EndChunk() {
  const size_t n = kl_.size() - chunk_begin_;
  if (n == 0) return;
  double kl = 0;
  for (size_t i = chunk_begin_; i < kl_.size(); ++i) kl += kl_[i];
  chunk_kl_.push_back(kl / static_cast<double>(n));
  chunk_differences_.push_back(chunk_difference_ / static_cast<double>(n));
  chunk_difference_ = 0;
  chunk_begin_ = kl_.size();
}

DriftStatistics DriftSums::Finish() {
  DriftStatistics result;
  result.targets = kl_.size();
  if (kl_.empty()) return result;
  const auto n = static_cast<double>(kl_.size());
  double sum = 0;
  for (const float kl : kl_) sum += kl;
  result.kl_mean = sum / n;
  result.kl_error = StandardError(chunk_kl_);
  std::sort(kl_.begin(), kl_.end());
  result.kl_median = kl_[kl_.size() / 2];
  result.kl_p99 = kl_[kl_.size() * 99 / 100];
  result.kl_max = kl_.back();
  result.top1 = static_cast<double>(same_top_) / n;
  result.top_k = static_cast<double>(in_top_k_) / n;
  result.reference_perplexity = Exp(reference_nll_ / n);
  result.perplexity = Exp(nll_ / n);
  result.nll_difference = (nll_ - reference_nll_) / n;
  result.nll_difference_error = StandardError(chunk_differences_);
  return result;
}

}  // namespace krafla

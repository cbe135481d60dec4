// The router's choice and the grouping of rows by expert. Sums here have at most some hundred terms
// and go in ascending order; of equal scores the lower index is taken.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "lib/model/blocks_experts.h"

namespace krafla::blocks {
namespace {

void SoftmaxOf(float* s, size_t n) {
  float most = s[0];
  for (size_t i = 1; i < n; ++i) most = s[i] > most ? s[i] : most;
  for (size_t i = 0; i < n; ++i) s[i] = s[i] - most;
  kernels::map_exp(s, n, s);
  const float sum = std::accumulate(s, s + n, 0.0F);
  for (size_t i = 0; i < n; ++i) s[i] = s[i] / sum;
}

class RouteStep final : public Step {
 public:
  explicit RouteStep(const RouteSizes& sizes) : s_(sizes) {}
  const char* name() const override { return "route"; }
  StepWork Work(const Pass& pass) const override {
    return {pass.rows.size(), 4 * s_.n_experts, s_.n_experts * (s_.n_used + 20)};
  }
  void Run(const Pass& pass, size_t begin, size_t end, size_t thread) const override {
    for (size_t row = begin; row < end; ++row) {
      float* scores = pass.wide + row * pass.ld_wide;
      if (s_.router == Router::kSoftmax) SoftmaxOf(scores, s_.n_experts);
      if (s_.router == Router::kSigmoid) kernels::map_sigmoid(scores, s_.n_experts, scores);
      uint32_t* expert = pass.routes.expert + row * s_.n_used;
      Choose(scores, pass.thread_scratch<float>(thread), expert);
      Weigh(scores, expert, pass.routes.weight + row * s_.n_used);
      if (s_.shared_gate.size == 0) continue;
      float* shared = pass.routes.shared + row;
      *shared =
          kernels::dot(pass.act + row * pass.ld_act, s_.shared_gate.data, s_.shared_gate.size);
      kernels::map_sigmoid(shared, 1, shared);
    }
  }

 private:
  // The n_used best, each once, whatever the scores are.
  void Choose(const float* scores, float* choice, uint32_t* expert) const {
    std::memcpy(choice, scores, s_.n_experts * sizeof(float));
    if (s_.bias.size != 0) kernels::add(s_.bias.data, s_.n_experts, choice);
    auto* taken = reinterpret_cast<uint8_t*>(choice + s_.n_experts);
    std::fill_n(taken, s_.n_experts, uint8_t{0});
    for (size_t rank = 0; rank < s_.n_used; ++rank) {
      size_t best = s_.n_experts;
      for (size_t e = 0; e < s_.n_experts; ++e) {
        if (taken[e] == 0 && (best == s_.n_experts || choice[e] > choice[best])) best = e;
      }
      taken[best] = 1;
      expert[rank] = static_cast<uint32_t>(best);
    }
  }

  void Weigh(const float* scores, const uint32_t* expert, float* weight) const {
    for (size_t i = 0; i < s_.n_used; ++i) weight[i] = scores[expert[i]];
    if (s_.router == Router::kSoftmaxOfTop) {
      SoftmaxOf(weight, s_.n_used);
    } else if (s_.norm_topk) {
      const float sum = std::accumulate(weight, weight + s_.n_used, 0.0F);
      for (size_t i = 0; i < s_.n_used; ++i) weight[i] = weight[i] / sum;
    }
  }
  RouteSizes s_;
};

class GroupPairsStep final : public Step {
 public:
  GroupPairsStep(size_t n_experts, size_t n_used) : n_experts_(n_experts), n_used_(n_used) {}
  const char* name() const override { return "group by expert"; }
  StepWork Work(const Pass& pass) const override {
    return {1, 4 * n_experts_, n_experts_ + 4 * pass.rows.size() * n_used_};
  }
  void Run(const Pass& pass, size_t, size_t, size_t thread) const override {
    const Routes& routes = pass.routes;
    const size_t n_pairs = pass.rows.size() * n_used_;
    auto* next = pass.thread_scratch<uint32_t>(thread);  // [experts] pair that comes next
    std::fill_n(next, n_experts_, 0U);
    for (size_t i = 0; i < n_pairs; ++i) ++next[routes.expert[i]];
    uint32_t n_hit = 0;
    uint32_t begin = 0;
    for (uint32_t e = 0; e < n_experts_; ++e) {
      if (next[e] == 0) continue;
      routes.hit[n_hit] = e;
      routes.begin[n_hit++] = begin;
      begin += std::exchange(next[e], begin);
    }
    routes.begin[n_hit] = begin;
    *routes.n_hit = n_hit;
    for (size_t i = 0; i < n_pairs; ++i) {
      const uint32_t pair = next[routes.expert[i]]++;
      routes.pair[i] = pair;
      routes.row[pair] = static_cast<uint32_t>(i / n_used_);
    }
  }

 private:
  size_t n_experts_;
  size_t n_used_;
};

}  // namespace

std::unique_ptr<const Step> Route(const RouteSizes& sizes) {
  return std::make_unique<RouteStep>(sizes);
}

std::unique_ptr<const Step> GroupPairs(size_t n_experts, size_t n_used) {
  return std::make_unique<GroupPairsStep>(n_experts, n_used);
}

}  // namespace krafla::blocks

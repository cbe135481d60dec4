// The set of tokens that a chain of stages narrows down, with a value (a logit, then a scaled
// logit) each. Its order is always a defined one, because sums over it must have the same bits
// everywhere: ascending id, or descending value with the lower id first among equals. It is never
// empty. Until a stage needs the tokens one by one it stays the caller's logits, so that greedy
// costs two passes over floats and no copy.
#ifndef KRAFLA_LIB_SAMPLER_CANDIDATES_H_
#define KRAFLA_LIB_SAMPLER_CANDIDATES_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "include/krafla/krafla.h"

namespace krafla {

// function(id) for each set bit id < n, ascending.
template <typename Function>
void ForEachBit(std::span<const uint32_t> mask, size_t n, Function function) {
  const size_t words = std::min(mask.size(), (n + 31) / 32);
  for (size_t w = 0; w < words; ++w) {
    for (uint32_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      const size_t id = w * 32 + static_cast<size_t>(std::countr_zero(bits));
      if (id >= n) return;
      function(id);
    }
  }
}

// The ABI's own, since a host's stage works on the same list.
using Candidate = krafla_candidate;

class Candidates {
 public:
  // All finite logits; at least one is, none is NaN or +inf. `max` is the largest.
  void Reset(std::span<const float> logits, float max);

  // Of the candidates of a Reset only those whose bit is set (id % 32 of word id / 32); its `max`
  // is one of them.
  void KeepMasked(std::span<const uint32_t> mask);

  // One token of n_vocab, whatever its logit.
  void ResetTo(int32_t id, size_t n_vocab);

  size_t vocab_size() const { return n_vocab_; }
  double Max() const;

  // The candidates in their order. Whoever changes values calls ValuesChanged() afterwards.
  std::span<Candidate> items();
  void ValuesChanged();

  // Keeps the k >= 1 best. Ordered by value afterwards, unless there were no more than k.
  void KeepBest(size_t k);

  // Keeps those with value >= limit, in their order; limit <= Max().
  void KeepAtLeast(double limit);

  // Keeps those for whose index in items() keep(index) is true, in their order; at least one.
  template <typename Keep>
  void KeepIf(Keep keep) {
    size_t n = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      if (keep(i)) items_[n++] = items_[i];
    }
    items_.resize(n);
  }

  // Other candidates in place of all: at least one, in ascending order of their ids.
  void Replace(std::span<const Candidate> items);

  // Takes candidates from the best on, up to and including the first for which last(candidate) is
  // true, and drops the rest; all stay if there is none. Ordered by value afterwards.
  template <typename Last>
  void KeepThrough(Last last) {
    items();
    size_t sorted = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      // Sorting in growing pieces: a peaked distribution needs a few candidates, a flat one all.
      if (i == sorted) sorted = SortNext(sorted, std::max<size_t>(kFirstPiece, 4 * sorted));
      if (last(items_[i])) {
        items_.resize(i + 1);
        break;
      }
    }
    by_value_ = true;
  }

 private:
  static constexpr size_t kFirstPiece = 64;

  // With the best `sorted` candidates in place, puts the next best behind them, to `end` or the
  // last; returns how many are in place then. What lies behind is in no defined order.
  size_t SortNext(size_t sorted, size_t end);

  std::span<const float> logits_;
  size_t n_vocab_ = 0;
  float logits_max_ = 0;
  bool listed_ = false;    // items_ is the set; otherwise the set is all finite logits_
  bool by_value_ = false;  // the order of items_
  std::vector<Candidate> items_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_CANDIDATES_H_

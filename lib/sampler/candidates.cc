// Selection by the total order (value descending, id ascending). The standard library's partial
// sorts may leave what they do not sort in any order, so it is always dropped before anyone sees
// it.
#include "lib/sampler/candidates.h"

#include <limits>

namespace krafla {
namespace {

bool Better(const Candidate& a, const Candidate& b) {
  return a.value > b.value || (a.value == b.value && a.id < b.id);
}

}  // namespace

void Candidates::Reset(std::span<const float> logits, float max) {
  items_.reserve(logits.size());
  logits_ = logits;
  n_vocab_ = logits.size();
  logits_max_ = max;
  listed_ = false;
  by_value_ = false;
}

void Candidates::ResetTo(int32_t id, size_t n_vocab) {
  items_.assign(1, {0, id, 0});
  logits_ = {};
  n_vocab_ = n_vocab;
  listed_ = true;
  by_value_ = false;
}

void Candidates::KeepMasked(std::span<const uint32_t> mask) {
  items_.clear();
  ForEachBit(mask, logits_.size(), [this](size_t id) {
    if (logits_[id] > -std::numeric_limits<float>::infinity()) {
      items_.push_back({logits_[id], static_cast<int32_t>(id), 0});
    }
  });
  listed_ = true;
}

double Candidates::Max() const {
  if (!listed_) return logits_max_;
  if (by_value_) return items_[0].value;
  double max = items_[0].value;
  for (const Candidate& c : items_) max = c.value > max ? c.value : max;
  return max;
}

std::span<Candidate> Candidates::items() {
  if (!listed_) {
    items_.resize(logits_.size());
    size_t n = 0;
    for (size_t id = 0; id < logits_.size(); ++id) {
      items_[n] = {logits_[id], static_cast<int32_t>(id), 0};
      n += logits_[id] > -std::numeric_limits<float>::infinity();
    }
    items_.resize(n);
    listed_ = true;
  }
  return items_;
}

void Candidates::ValuesChanged() {
  if (by_value_ && !std::is_sorted(items_.begin(), items_.end(), Better)) {
    std::sort(items_.begin(), items_.end(), Better);
  }
}

void Candidates::Replace(std::span<const Candidate> items) {
  items_.assign(items.begin(), items.end());
  listed_ = true;
  by_value_ = false;
}

size_t Candidates::SortNext(size_t sorted, size_t end) {
  if (by_value_) return items_.size();
  const auto first = items_.begin() + static_cast<ptrdiff_t>(sorted);
  if (end >= items_.size()) {
    std::sort(first, items_.end(), Better);
    return items_.size();
  }
  const auto last = items_.begin() + static_cast<ptrdiff_t>(end);
  // A heap of the best is faster as long as few candidates displace another.
  if (end - sorted <= 1024) {
    std::partial_sort(first, last, items_.end(), Better);
  } else {
    std::nth_element(first, last, items_.end(), Better);
    std::sort(first, last, Better);
  }
  return end;
}

void Candidates::KeepBest(size_t k) {
  if (!listed_ && k == 1) {
    const auto best = std::find(logits_.begin(), logits_.end(), logits_max_);
    items_.assign(1, {logits_max_, static_cast<int32_t>(best - logits_.begin()), 0});
    listed_ = true;
  } else if (k < items().size()) {
    SortNext(0, k);
    items_.resize(k);
  } else {
    return;
  }
  by_value_ = true;
}

void Candidates::KeepAtLeast(double limit) {
  items();
  const auto end = std::remove_if(items_.begin(), items_.end(),
                                  [limit](const Candidate& c) { return c.value < limit; });
  items_.erase(end, items_.end());
}

}  // namespace krafla

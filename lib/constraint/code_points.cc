// See code_points.h.
#include "lib/constraint/code_points.h"

#include <algorithm>

namespace krafla {

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges) {
  for (const CodePointRange& range : ranges) Add(range.first, range.last);
}

// Every range goes in at its place and swallows those that it touches.
void CodePointSet::Add(uint32_t first, uint32_t last) {
  last = std::min(last, kMaxCodePoint);
  if (first > last) return;
  if (first < 0xD800 && last > 0xDFFF) {
    Add(first, 0xD7FF);
    Add(0xE000, last);
    return;
  }
  if (first >= 0xD800 && first <= 0xDFFF) first = 0xE000;
  if (last >= 0xD800 && last <= 0xDFFF) last = 0xD7FF;
  if (first > last) return;
  const auto touches_from = std::lower_bound(
      ranges_.begin(), ranges_.end(), first,
      [](const CodePointRange& range, uint32_t value) { return range.last + 1 < value; });
  auto end = touches_from;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  if (touches_from == end) {
    ranges_.insert(end, {first, last});
  } else {
    *touches_from = {first, last};
    ranges_.erase(touches_from + 1, end);
  }
}

void CodePointSet::Add(const CodePointSet& other) {
  for (const CodePointRange& range : other.ranges_) Add(range.first, range.last);
}

CodePointSet CodePointSet::Complement() const {
  CodePointSet out;
  uint32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) out.Add(next, range.first - 1);
    next = range.last + 1;
  }
  out.Add(next, kMaxCodePoint);
  return out;
}

CodePointSet CodePointSet::Intersect(const CodePointSet& other) const {
  CodePointSet out;
  size_t i = 0, j = 0;
  while (i < ranges_.size() && j < other.ranges_.size()) {
    const CodePointRange a = ranges_[i], b = other.ranges_[j];
    const uint32_t first = std::max(a.first, b.first), last = std::min(a.last, b.last);
    if (first <= last) out.ranges_.push_back({first, last});
    a.last < b.last ? ++i : ++j;
  }
  return out;
}

}  // namespace krafla

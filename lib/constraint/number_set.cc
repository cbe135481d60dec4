// See number_set.h; the texts are number_texts.cc.
#include "lib/constraint/number_set.h"

#include <algorithm>
#include <numeric>

namespace krafla {
namespace {

constexpr uint32_t kMaxMultiple = 10000;

// Orders lower ends: none is lowest, a closed one is below an open one of the same value.
bool LowBefore(const Interval& a, const Interval& b) {
  if (!a.low || !b.low) return !a.low && b.low;
  const int order = Decimal::Compare(*a.low, *b.low);
  return order != 0 ? order < 0 : !a.low_open && b.low_open;
}

// Whether the upper end of a is below that of b.
bool HighBefore(const Interval& a, const Interval& b) {
  if (!a.high || !b.high) return a.high && !b.high;
  const int order = Decimal::Compare(*a.high, *b.high);
  return order != 0 ? order < 0 : a.high_open && !b.high_open;
}

bool IsEmpty(const Interval& i) {
  if (!i.low || !i.high) return false;
  const int order = Decimal::Compare(*i.low, *i.high);
  return order > 0 || (order == 0 && (i.low_open || i.high_open));
}

// Closed ends at integers.
Interval OfIntegers(Interval i) {
  if (i.low && (i.low_open || !i.low->is_integer())) i.low = i.low->Floor().PlusOne();
  if (i.high && i.high_open && i.high->is_integer()) {
    i.high = i.high->Negated().PlusOne().Negated();
  } else if (i.high) {
    i.high = i.high->Floor();
  }
  i.low_open = i.high_open = false;
  return i;
}

// What holds of numbers that are no integers: an integer as an end may as well be left out.
Interval OfFractions(Interval i) {
  if (i.low && i.low->is_integer()) i.low_open = true;
  if (i.high && i.high->is_integer()) i.high_open = true;
  return i;
}

using Normal = Interval (*)(Interval);

Intervals Normalize(Intervals in, Normal normal) {
  for (Interval& i : in) i = normal(i);
  std::erase_if(in, IsEmpty);
  std::sort(in.begin(), in.end(), LowBefore);
  Intervals out;
  for (const Interval& i : in) {
    bool joined = false;
    if (!out.empty()) {
      Interval& last = out.back();
      if (!last.high) return out;
      const int order = i.low ? Decimal::Compare(*i.low, *last.high) : -1;
      joined = order < 0 || (order == 0 && !(i.low_open && last.high_open));
      if (joined && HighBefore(last, i)) {
        last.high = i.high;
        last.high_open = i.high_open;
      }
    }
    if (!joined) out.push_back(i);
  }
  return out;
}

Intervals Cut(const Intervals& a, const Intervals& b, Normal normal) {
  Intervals out;
  for (const Interval& x : a) {
    for (const Interval& y : b) {
      Interval both = LowBefore(x, y) ? y : x;
      const Interval& lower = HighBefore(x, y) ? x : y;
      both.high = lower.high;
      both.high_open = lower.high_open;
      out.push_back(both);
    }
  }
  return Normalize(std::move(out), normal);
}

Intervals Rest(const Intervals& a, Normal normal) {
  Intervals out;
  Interval gap;
  for (const Interval& i : a) {
    if (i.low) {
      gap.high = i.low;
      gap.high_open = !i.low_open;
      out.push_back(gap);
    }
    if (!i.high) return Normalize(std::move(out), normal);
    gap = {i.high, std::nullopt, !i.high_open, false};
  }
  out.push_back(gap);
  return Normalize(std::move(out), normal);
}

// Of integers, whose bounds are never open.
bool Same(const Intervals& a, const Intervals& b) {
  const auto same = [](const std::optional<Decimal>& x, const std::optional<Decimal>& y) {
    return x.has_value() == y.has_value() && (!x || Decimal::Compare(*x, *y) == 0);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const Interval& x, const Interval& y) {
                      return same(x.low, y.low) && same(x.high, y.high);
                    });
}

// Whether all integers of b are in a.
bool Holds(const NumberSet& a, const NumberSet& b) {
  return b.multiple % a.multiple == 0 && Same(Cut(a.integers, b.integers, OfIntegers), b.integers);
}

}  // namespace

NumberSet NumberSet::Of(const Decimal& value) {
  const Interval point{value, value, false, false};
  return value.is_integer() ? NumberSet{{point}, {}, 1} : NumberSet{{}, {point}, 1};
}

StatusOr<NumberSet> Intersect(const NumberSet& a, const NumberSet& b) {
  NumberSet out{Cut(a.integers, b.integers, OfIntegers), Cut(a.fractions, b.fractions, OfFractions),
                1};
  const uint64_t multiple = std::lcm(uint64_t{a.multiple}, uint64_t{b.multiple});
  if (multiple > kMaxMultiple) {
    return UnsupportedError("multipleOf beyond {}", kMaxMultiple);
  }
  out.multiple = static_cast<uint32_t>(multiple);
  if (multiple > 1) out.fractions.clear();
  return out;
}

StatusOr<NumberSet> Union(const NumberSet& a, const NumberSet& b) {
  if (a.integers.empty() || b.integers.empty() || a.multiple == b.multiple) {
    NumberSet out = a;
    out.multiple = a.integers.empty() ? b.multiple : a.multiple;
    if (out.multiple > 1 && !(a.fractions.empty() && b.fractions.empty())) {
      return UnsupportedError("multipleOf in one of several alternatives of numbers");
    }
    out.integers.insert(out.integers.end(), b.integers.begin(), b.integers.end());
    out.fractions.insert(out.fractions.end(), b.fractions.begin(), b.fractions.end());
    out.integers = Normalize(std::move(out.integers), OfIntegers);
    out.fractions = Normalize(std::move(out.fractions), OfFractions);
    return out;
  }
  // One of the two has multiples alone, thus no fractions.
  if (b.multiple > 1 && Holds(a, b)) return a;
  if (a.multiple > 1 && Holds(b, a)) return b;
  return UnsupportedError("multipleOf in one of several alternatives of numbers");
}

StatusOr<NumberSet> Complement(const NumberSet& a) {
  if (a.multiple != 1) return UnsupportedError("the negation of multipleOf");
  return NumberSet{Rest(a.integers, OfIntegers), Rest(a.fractions, OfFractions), 1};
}

}  // namespace krafla

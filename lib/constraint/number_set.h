// Sets of numbers as schemas describe them: intervals of the integers and of the other numbers,
// apart, closed under intersection, union and complement; and the texts that stand for them.
#ifndef KRAFLA_LIB_CONSTRAINT_NUMBER_SET_H_
#define KRAFLA_LIB_CONSTRAINT_NUMBER_SET_H_

#include <optional>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/char_dfa.h"
#include "lib/constraint/decimal.h"

namespace krafla {

struct Interval {
  std::optional<Decimal> low, high;  // none: no bound
  bool low_open = false, high_open = false;
};
using Intervals = std::vector<Interval>;  // ascending and apart

struct NumberSet {
  Intervals integers, fractions;  // of fractions those that are no integers
  uint32_t multiple = 1;          // the integers are multiples of this; > 1: no fractions

  static NumberSet All() { return {{Interval{}}, {Interval{}}, 1}; }
  static NumberSet Integers() { return {{Interval{}}, {}, 1}; }
  static NumberSet Of(const Decimal& value);
  static NumberSet Between(Interval interval) { return {{interval}, {interval}, 1}; }

  bool empty() const { return integers.empty() && fractions.empty(); }
};

StatusOr<NumberSet> Intersect(const NumberSet& a, const NumberSet& b);
StatusOr<NumberSet> Union(const NumberSet& a, const NumberSet& b);
StatusOr<NumberSet> Complement(const NumberSet& a);

// Each number in its JSON forms: integers without a point (where fractions are in the set, too,
// also with zeros behind one), other numbers with one, and numbers without bounds also with an
// exponent. At most 20 digits before the point, or as many as the bounds have, and 20 behind it.
StatusOr<CharDfa> NumberTexts(const NumberSet& set);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_NUMBER_SET_H_

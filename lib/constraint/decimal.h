// Decimal numbers of any length, as schemas write their bounds: compared exactly, never rounded.
#ifndef KRAFLA_LIB_CONSTRAINT_DECIMAL_H_
#define KRAFLA_LIB_CONSTRAINT_DECIMAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "lib/base/status.h"

namespace krafla {

class Decimal {
 public:
  static constexpr int kMaxDigits = 400;  // before or behind the point

  Decimal() = default;  // 0
  // A number of JSON; ArgumentError where it has too many digits.
  static StatusOr<Decimal> Parse(std::string_view text);

  bool negative() const { return negative_; }
  bool zero() const { return whole_ == "0" && fraction_.empty(); }
  bool is_integer() const { return fraction_.empty(); }
  const std::string& whole() const { return whole_; }        // digits, "0" for none
  const std::string& fraction() const { return fraction_; }  // digits without zeros at the end
  Decimal Negated() const;
  Decimal Floor() const;
  Decimal PlusOne() const;  // of an integer

  // Negative, zero, positive.
  static int Compare(const Decimal& a, const Decimal& b);

 private:
  bool negative_ = false;
  std::string whole_ = "0", fraction_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_DECIMAL_H_

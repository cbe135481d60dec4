// A caller's microseconds as a duration that can be added to a clock's now, which overflows where
// they are absurd: more than a year counts as a year.
#ifndef KRAFLA_LIB_BASE_DURATION_H_
#define KRAFLA_LIB_BASE_DURATION_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace krafla {

inline std::chrono::microseconds AtMostAYear(int64_t microseconds) {
  constexpr int64_t kYear = int64_t{365} * 24 * 3600 * 1000000;
  return std::chrono::microseconds(std::min(microseconds, kYear));
}

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_DURATION_H_

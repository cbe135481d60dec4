// Arithmetic on sizes that come from files: every result says whether it overflowed.
#ifndef KRAFLA_LIB_FILE_CHECKED_H_
#define KRAFLA_LIB_FILE_CHECKED_H_

#include <cstdint>
#include <limits>

namespace krafla {

// *out = a * b (or a + b); false: would not fit, *out is unchanged.
inline bool CheckedMul(uint64_t a, uint64_t b, uint64_t* out) {
  if (b != 0 && a > std::numeric_limits<uint64_t>::max() / b) return false;
  *out = a * b;
  return true;
}
inline bool CheckedAdd(uint64_t a, uint64_t b, uint64_t* out) {
  if (a > std::numeric_limits<uint64_t>::max() - b) return false;
  *out = a + b;
  return true;
}
// multiple is a power of two.
inline bool CheckedAlign(uint64_t a, uint64_t multiple, uint64_t* out) {
  if (!CheckedAdd(a, multiple - 1, &a)) return false;
  *out = a & ~(multiple - 1);
  return true;
}

}  // namespace krafla

#endif  // KRAFLA_LIB_FILE_CHECKED_H_

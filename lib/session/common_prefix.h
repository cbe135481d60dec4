#ifndef KRAFLA_LIB_SESSION_COMMON_PREFIX_H_
#define KRAFLA_LIB_SESSION_COMMON_PREFIX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace krafla {

// The number of tokens that two texts begin with alike.
inline size_t CommonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  const size_t n = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(n), b.begin()).first - a.begin());
}

}  // namespace krafla

#endif  // KRAFLA_LIB_SESSION_COMMON_PREFIX_H_

// See lookup.h.
#include "lib/batch/lookup.h"

namespace krafla {

Match FindMatch(std::span<const int32_t> read, int32_t next) {
  Match best;
  const size_t n = read.size();
  for (size_t at = n; at > 0 && best.length < kLongestMatch; --at) {
    if (read[at - 1] != next) continue;
    // read[at - 1] is as `next`; before them read[at - 2] beside read[n - 1], and so on.
    size_t length = 1;
    while (length < kLongestMatch && length < at && read[at - 1 - length] == read[n - length]) {
      ++length;
    }
    if (length > best.length) best = {at, length};
  }
  return best;
}

void Continue(std::span<const int32_t> read, int32_t next, const Match& match,
              std::span<int32_t> out) {
  const size_t n = read.size();
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t from = match.at + i;
    out[i] = from < n ? read[from] : from == n ? next : out[from - n - 1];
  }
}

}  // namespace krafla

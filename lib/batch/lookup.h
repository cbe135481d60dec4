// Prompt lookup: what a text says next is often what it said after the same words before. The
// longest earlier occurrence of the text's end is looked for by a plain walk: a few microseconds
// for thousands of ids, beside milliseconds for a token, and nothing to keep up to date.
#ifndef KRAFLA_LIB_BATCH_LOOKUP_H_
#define KRAFLA_LIB_BATCH_LOOKUP_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace krafla {

inline constexpr size_t kLongestMatch = 16;  // ids compared at most

// The text is `read` and then `next`. `length` ids before read[at] are those at the text's end; the
// longest such place, of equal ones the last. length 0: there is none.
struct Match {
  size_t at = 0;
  size_t length = 0;
};
Match FindMatch(std::span<const int32_t> read, int32_t next);

// Writes what follows the match; beyond the text's end it follows itself, as a period does.
void Continue(std::span<const int32_t> read, int32_t next, const Match& match,
              std::span<int32_t> out);

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_LOOKUP_H_

// Queries in groups that share each load of keys and values; what one query computes is the same
// alone and in company.
#ifndef KRAFLA_KERNELS_GENERIC_ATTEND_GROUPS_H_
#define KRAFLA_KERNELS_GENERIC_ATTEND_GROUPS_H_

#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// Vectors that a loop carries for each query: a lone one needs more, to hide the adder's latency.
template <size_t kN>
constexpr size_t kWide = kN == 1 ? 4 : kAttendWide;

// Codes of kLanes entries from `i` on of row `row` of a quantised page (kernels/kernels.h).
template <size_t kBits>
struct Codes {
  explicit Codes(const void* page, size_t n_rows)
      : rows(static_cast<const int8_t*>(page)), low(rows + n_rows * 16), half((n_rows + 1) / 2) {}
  F32 get(size_t row, size_t i) const {
    if constexpr (kBits == 8) {
      return to_float(load_int8(rows + row * 32 + i));
    } else {
      const I32 both = load_int8(rows + row * 16 + i % 16);
      constexpr int kUnit = kBits - 4;  // the nibble's place in the code
      const I32 high = i < 16 ? shift_right<28 - kUnit>(shift_left<28>(both))
                              : shift_left<kUnit>(shift_right<4>(both));
      if constexpr (kBits == 4) return to_float(high);
      const size_t upper = row < half ? 0 : 1;
      const I32 four = load_int8(low + (row - upper * half) * 16 + i % 16);
      return to_float(high | (shifted(four, upper * 2 + i / 16) & splat_int(3)));
    }
  }
  const int8_t *rows, *low;
  size_t half;

 private:
  static I32 shifted(I32 four, size_t pair) {
    switch (pair) {
      case 0:
        return four;
      case 1:
        return shift_right<2>(four);
      case 2:
        return shift_right<4>(four);
      default:
        return shift_right<6>(four);
    }
  }
};

// body(query, count): runs of queries that each see a position, in equal groups of at most
// kAttendQueries; none(query) for those that see nothing.
template <class Body, class None>
inline void for_groups(const AttendArgs& a, Body body, None none) {
  for (size_t query = 0; query < a.n_queries;) {
    size_t n = 0;
    while (query + n < a.n_queries && a.first[query + n] < a.last[query + n]) ++n;
    if (n == 0) {
      none(query++);
      continue;
    }
    for (size_t groups = (n + kAttendQueries - 1) / kAttendQueries; groups > 0; --groups) {
      const size_t count = (n + groups - 1) / groups;
      body(query, count);
      query += count;
      n -= count;
    }
  }
}

// call.run<n>(query), 0 < n <= kMost.
template <size_t kMost, class Call>
inline void with_count(size_t n, size_t query, Call& call) {
  if constexpr (kMost > 0) {
    if (n == kMost) {
      call.template run<kMost>(query);
    } else {
      with_count<kMost - 1>(n, query, call);
    }
  }
}

// What a group of queries sees: all of them, and any of them.
struct Sight {
  Sight(const AttendArgs& a, size_t query, size_t n)
      : begin(a.first[query]), end(a.last[query]), common_begin(begin), common_end(end) {
    for (size_t i = query + 1; i < query + n; ++i) {
      begin = a.first[i] < begin ? a.first[i] : begin;
      end = a.last[i] > end ? a.last[i] : end;
      common_begin = a.first[i] > common_begin ? a.first[i] : common_begin;
      common_end = a.last[i] < common_end ? a.last[i] : common_end;
    }
  }
  int32_t begin, end, common_begin, common_end;
};

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_GENERIC_ATTEND_GROUPS_H_

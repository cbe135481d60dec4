// Weighted sums of a block's values. Channels are lanes; positions are added in ascending order.
#include "kernels/generic/attend_groups.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

struct F32Values {
  static constexpr bool kGrouped = false;
  F32Values(const void* page, size_t n) : v(static_cast<const float*>(page)), head_dim(n) {}
  template <class Count>
  F32 get(size_t p, size_t c, Count count) const {
    return load(v + p * head_dim + c, count);
  }
  const float* v;
  size_t head_dim;
};

struct F16Values {
  static constexpr bool kGrouped = false;
  F16Values(const void* page, size_t n) : v(static_cast<const uint16_t*>(page)), head_dim(n) {}
  template <class Count>
  F32 get(size_t p, size_t c, Count count) const {
    return load_f16(v + p * head_dim + c, count);
  }
  const uint16_t* v;
  size_t head_dim;
};

// Groups are padded with codes, so a count is of no interest.
template <size_t kB>
struct QuantisedValues {
  static constexpr bool kGrouped = true;
  static constexpr size_t kBits = kB;
  QuantisedValues(const void* page, size_t head_dim)
      : codes(page, kPagePositions * KvGroups(head_dim)) {}
  template <class Count>
  F32 get(size_t p, size_t c, Count) const {
    return codes.get(c / 32 * kPagePositions + p, c % 32);
  }
  Codes<kB> codes;
};

// o += e * v over positions [begin, end), for kVectors vectors of channels from c on; e[i] of query
// i, [kN][256].
template <class Values, size_t kN, size_t kVectors, class Count>
inline void sum_channels(const AttendArgs& a, size_t query, const float* e, size_t begin,
                         size_t end, size_t c, Count count) {
  F32 acc[kN][kVectors];
  float* o = a.o + query * a.ldo + c;
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) acc[i][j] = load(o + i * a.ldo + j * kLanes, count);
  }
  for (size_t p = begin; p < end;) {
    const Values v(a.v_pages[p / kPagePositions], a.head_dim);
    const size_t in_page = p % kPagePositions, left = end - p;
    const size_t page_end = left < kPagePositions - in_page ? in_page + left : kPagePositions;
    const float* weights = e + (p - in_page);
    p += page_end - in_page;
    for (size_t q = in_page; q < page_end; ++q) {
      F32 values[kVectors];
#pragma GCC unroll 4
      for (size_t j = 0; j < kVectors; ++j) values[j] = v.get(q, c + j * kLanes, count);
#pragma GCC unroll 16
      for (size_t i = 0; i < kN; ++i) {
        const F32 weight = splat(weights[i * kAttendPositions + q]);
#pragma GCC unroll 4
        for (size_t j = 0; j < kVectors; ++j) acc[i][j] = acc[i][j] + weight * values[j];
      }
    }
  }
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) store(o + i * a.ldo + j * kLanes, acc[i][j], count);
  }
}

// Channels [c, c_end).
template <class Values, size_t kN, size_t kVectors>
inline void sum_range(const AttendArgs& a, size_t query, const float* e, size_t begin, size_t end,
                      size_t c, size_t c_end) {
  for (; c + kVectors * kLanes <= c_end; c += kVectors * kLanes) {
    sum_channels<Values, kN, kVectors>(a, query, e, begin, end, c, All());
  }
  for (; c + kLanes <= c_end; c += kLanes) {
    sum_channels<Values, kN, 1>(a, query, e, begin, end, c, All());
  }
  if (c < c_end) sum_channels<Values, kN, 1>(a, query, e, begin, end, c, c_end - c);
}

// e times the scales of group g, for the vectors of positions that hold [begin, end).
template <class Values, size_t kN>
inline void weights_of(const AttendArgs& a, size_t query, size_t g, size_t begin, size_t end,
                       float* weights) {
  const size_t codes = KvCodeBytes(Values::kBits, kPagePositions * KvGroups(a.head_dim));
  for (size_t p = begin / kLanes * kLanes; p < end; p += kLanes) {
    const auto* scales = reinterpret_cast<const uint16_t*>(
        static_cast<const char*>(a.v_pages[p / kPagePositions]) + codes);
    const F32 s = load_f16(scales + g * kPagePositions + p % kPagePositions);
    for (size_t i = 0; i < kN; ++i) {
      const size_t at = i * kAttendPositions + p;
      store(weights + at, load(a.scores + query * kAttendPositions + at) * s);
    }
  }
}

template <class Values, size_t kN>
inline void sum_values(const AttendArgs& a, size_t query, size_t begin, size_t end) {
  if (begin >= end) return;
  if constexpr (Values::kGrouped) {
    constexpr size_t kInGroup = 32 / kLanes;
    constexpr size_t kVectors = kWide<kN> < kInGroup ? kWide<kN> : kInGroup;
    float weights[kN * kAttendPositions];
    for (size_t g = 0; g < KvGroups(a.head_dim); ++g) {
      weights_of<Values, kN>(a, query, g, begin, end, weights);
      const size_t c = g * 32, c_end = c + 32 < a.head_dim ? c + 32 : a.head_dim;
      sum_range<Values, kN, kVectors>(a, query, weights, begin, end, c, c_end);
    }
  } else {
    const float* e = a.scores + query * kAttendPositions;
    sum_range<Values, kN, kWide<kN>>(a, query, e, begin, end, 0, a.head_dim);
  }
}

// Positions that all queries of a group see are summed together, those before and after for each
// query alone: in ascending order for everyone, and a position that a query does not see never
// enters its sums.
template <class Values>
struct Sums {
  template <size_t kN>
  void run(size_t query) const {
    const Sight sight(a, query, kN);
    auto from = static_cast<size_t>(sight.common_begin), to = static_cast<size_t>(sight.common_end);
    if (from >= to) from = to = kAttendPositions;  // windows that are disjoint
    for (size_t i = query; i < query + kN; ++i) {
      const auto first = static_cast<size_t>(a.first[i]), last = static_cast<size_t>(a.last[i]);
      for (size_t c = 0; c < a.head_dim; ++c) a.o[i * a.ldo + c] = 0.0f;
      sum_values<Values, 1>(a, i, first, from < last ? from : last);
    }
    if (from == to) return;
    sum_values<Values, kN>(a, query, from, to);
    for (size_t i = query; i < query + kN; ++i) {
      sum_values<Values, 1>(a, i, to, static_cast<size_t>(a.last[i]));
    }
  }
  const AttendArgs& a;
};

template <class Values>
inline void attend_values(const AttendArgs& a) {
  Sums<Values> sums{a};
  for_groups(
      a, [&](size_t query, size_t n) { with_count<kAttendQueries>(n, query, sums); },
      [&](size_t query) {
        for (size_t c = 0; c < a.head_dim; ++c) a.o[query * a.ldo + c] = 0.0f;
      });
}

}  // namespace

void attend_values_f32(const AttendArgs& args) { attend_values<F32Values>(args); }
void attend_values_f16(const AttendArgs& args) { attend_values<F16Values>(args); }
void attend_values_q8(const AttendArgs& args) { attend_values<QuantisedValues<8>>(args); }
void attend_values_q6(const AttendArgs& args) { attend_values<QuantisedValues<6>>(args); }
void attend_values_q4(const AttendArgs& args) { attend_values<QuantisedValues<4>>(args); }

}  // namespace krafla::KRAFLA_KERNELS

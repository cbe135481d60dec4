// One block of attention, its merge into what came before, and the final division. Scores have
// positions in their lanes, sums of values have channels: neither crosses lanes. Several queries
// share each load of keys and values; what one query computes is the same alone and in company.
#include "kernels/generic/functions.h"
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// Vectors that a loop carries for each query: a lone one needs more, to hide the adder's latency.
template <size_t kN>
constexpr size_t kWide = kN == 1 ? 4 : kAttendWide;

struct F32Page {
  using Element = float;
  template <class Count>
  static F32 get(const float* p, Count count) {
    return load(p, count);
  }
};

struct F16Page {
  using Element = uint16_t;
  template <class Count>
  static F32 get(const uint16_t* p, Count count) {
    return load_f16(p, count);
  }
};

// kVectors vectors of positions of one page; the dot products are not yet scaled.
template <class Page, size_t kN, size_t kVectors>
inline void dot_positions(const typename Page::Element* k, const float* q, size_t ldq,
                          size_t head_dim, float* scores) {
  F32 acc[kN][kVectors];
  for (auto& row : acc) {
    for (F32& v : row) v = splat(0.0f);
  }
  for (size_t c = 0; c < head_dim; ++c) {
    F32 keys[kVectors];
#pragma GCC unroll 4
    for (size_t j = 0; j < kVectors; ++j) {
      keys[j] = Page::get(k + c * kPagePositions + j * kLanes, All());
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kN; ++i) {
      const F32 qc = splat(q[i * ldq + c]);
#pragma GCC unroll 4
      for (size_t j = 0; j < kVectors; ++j) acc[i][j] = acc[i][j] + qc * keys[j];
    }
  }
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) {
      store(scores + i * kAttendPositions + j * kLanes, acc[i][j]);
    }
  }
}

// Dot products of kN queries with all positions of the pages that hold [begin, end).
template <class Page, size_t kN>
inline void dot_pages(const AttendArgs& a, size_t query, size_t begin, size_t end) {
  constexpr size_t kInPage = kPagePositions / kLanes;
  constexpr size_t kVectors = kWide<kN> < kInPage ? kWide<kN> : kInPage;
  const float* q = a.q + query * a.ldq;
  for (size_t page = begin / kPagePositions; page * kPagePositions < end; ++page) {
    const auto* k = static_cast<const typename Page::Element*>(a.k_pages[page]);
    float* scores = a.scores + query * kAttendPositions + page * kPagePositions;
    for (size_t p = 0; p < kPagePositions; p += kVectors * kLanes) {
      dot_positions<Page, kN, kVectors>(k + p, q, a.ldq, a.head_dim, scores + p);
    }
  }
}

// The dot products of one query into exponentials, in place; m and l. Works on whole groups of 16
// lanes: what is not seen becomes -inf, whose exponential is an exact zero.
inline void exponentials(const AttendArgs& a, size_t query, size_t first, size_t last) {
  float* s = a.scores + query * kAttendPositions;
  const size_t begin = first & ~size_t{15}, end = (last + 15) & ~size_t{15};
  const F32 scale = splat(a.scale), cap = splat(a.softcap);
  for (size_t p = begin; p < end; p += kLanes) {
    F32 v = load(s + p) * scale;
    if (a.softcap > 0.0f) v = cap * tanh(v / cap);
    store(s + p, v);
  }
  const float minus_inf = -__builtin_inff();
  for (size_t p = begin; p < first; ++p) s[p] = minus_inf;
  for (size_t p = last; p < end; ++p) s[p] = minus_inf;

  F32 maxima[kParts], sums[kParts];
  for (F32& v : maxima) v = splat(minus_inf);
  for (F32& v : sums) v = splat(0.0f);
  for (size_t p = begin; p < end; p += 16) {
    for (size_t j = 0; j < kParts; ++j) maxima[j] = max(load(s + p + j * kLanes), maxima[j]);
  }
  a.m[query] = fold_maxima(maxima);
  const F32 m = splat(a.m[query]);
  for (size_t p = begin; p < end; p += 16) {
    for (size_t j = 0; j < kParts; ++j) {
      const F32 e = exp(load(s + p + j * kLanes) - m);
      store(s + p + j * kLanes, e);
      sums[j] = sums[j] + e;
    }
  }
  a.l[query] = fold_sums(sums);
}

// o += e * v over positions [begin, end), for kVectors vectors of channels from c on.
template <class Page, size_t kN, size_t kVectors, class Count>
inline void sum_channels(const AttendArgs& a, size_t query, size_t begin, size_t end, size_t c,
                         Count count) {
  F32 acc[kN][kVectors];
  float* o = a.o + query * a.ldo + c;
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) acc[i][j] = load(o + i * a.ldo + j * kLanes, count);
  }
  const float* e = a.scores + query * kAttendPositions;
  for (size_t p = begin; p < end; ++p) {
    const auto* v = static_cast<const typename Page::Element*>(a.v_pages[p / kPagePositions]) +
                    p % kPagePositions * a.head_dim + c;
    F32 values[kVectors];
#pragma GCC unroll 4
    for (size_t j = 0; j < kVectors; ++j) values[j] = Page::get(v + j * kLanes, count);
#pragma GCC unroll 16
    for (size_t i = 0; i < kN; ++i) {
      const F32 weight = splat(e[i * kAttendPositions + p]);
#pragma GCC unroll 4
      for (size_t j = 0; j < kVectors; ++j) acc[i][j] = acc[i][j] + weight * values[j];
    }
  }
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) store(o + i * a.ldo + j * kLanes, acc[i][j], count);
  }
}

template <class Page, size_t kN>
inline void sum_values(const AttendArgs& a, size_t query, size_t begin, size_t end) {
  if (begin >= end) return;
  constexpr size_t kStep = kWide<kN> * kLanes;
  size_t c = 0;
  for (; c + kStep <= a.head_dim; c += kStep) {
    sum_channels<Page, kN, kWide<kN>>(a, query, begin, end, c, All());
  }
  for (; c + kLanes <= a.head_dim; c += kLanes) {
    sum_channels<Page, kN, 1>(a, query, begin, end, c, All());
  }
  if (c < a.head_dim) sum_channels<Page, kN, 1>(a, query, begin, end, c, a.head_dim - c);
}

// Queries that each see at least one position. Positions that all of them see are summed together,
// those before and after for each query alone: in ascending order for everyone, and a position that
// a query does not see never enters its sums.
template <class Page, size_t kN>
inline void attend_group(const AttendArgs& a, size_t query) {
  const int32_t *first = a.first + query, *last = a.last + query;
  int32_t begin = first[0], end = last[0], common_begin = first[0], common_end = last[0];
  for (size_t i = 1; i < kN; ++i) {
    begin = first[i] < begin ? first[i] : begin;
    end = last[i] > end ? last[i] : end;
    common_begin = first[i] > common_begin ? first[i] : common_begin;
    common_end = last[i] < common_end ? last[i] : common_end;
  }
  if (common_begin >= common_end) {  // only windows of different queries can be disjoint
    for (size_t i = 0; i < kN; ++i) attend_group<Page, 1>(a, query + i);
    return;
  }
  dot_pages<Page, kN>(a, query, static_cast<size_t>(begin), static_cast<size_t>(end));
  const size_t from = static_cast<size_t>(common_begin), to = static_cast<size_t>(common_end);
  for (size_t i = 0; i < kN; ++i) {
    exponentials(a, query + i, static_cast<size_t>(first[i]), static_cast<size_t>(last[i]));
    for (size_t c = 0; c < a.head_dim; ++c) a.o[(query + i) * a.ldo + c] = 0.0f;
    sum_values<Page, 1>(a, query + i, static_cast<size_t>(first[i]), from);
  }
  sum_values<Page, kN>(a, query, from, to);
  for (size_t i = 0; i < kN; ++i) {
    sum_values<Page, 1>(a, query + i, to, static_cast<size_t>(last[i]));
  }
}

inline void attend_nothing(const AttendArgs& a, size_t query) {
  a.m[query] = -__builtin_inff();
  a.l[query] = 0.0f;
  for (size_t c = 0; c < a.head_dim; ++c) a.o[query * a.ldo + c] = 0.0f;
}

// n <= kN queries in one group.
template <class Page, size_t kN>
inline void attend_some(const AttendArgs& a, size_t query, size_t n) {
  if constexpr (kN > 0) {
    if (n == kN) {
      attend_group<Page, kN>(a, query);
    } else {
      attend_some<Page, kN - 1>(a, query, n);
    }
  }
}

template <class Page>
inline void attend(const AttendArgs& a) {
  for (size_t query = 0; query < a.n_queries;) {
    size_t n = 0;
    while (n < kAttendQueries && query + n < a.n_queries &&
           a.first[query + n] < a.last[query + n]) {
      ++n;
    }
    if (n == 0) {
      attend_nothing(a, query++);
      continue;
    }
    attend_some<Page, kAttendQueries>(a, query, n);
    query += n;
  }
}

}  // namespace

void attend_f32(const AttendArgs& args) { attend<F32Page>(args); }

void attend_f16(const AttendArgs& args) { attend<F16Page>(args); }

void attend_merge(float mb, float lb, const float* ob, size_t head_dim, float* m, float* l,
                  float* o) {
  if (lb == 0.0f) return;
  if (*l == 0.0f) {
    *m = mb;
    *l = lb;
    memcpy(o, ob, head_dim * sizeof *o);
    return;
  }
  // Both exponentials in one vector: lane 0 the old block's, lane 1 the new one's.
  const float highest = *m > mb ? *m : mb;
  float pair[kLanes] = {*m - highest, mb - highest};
  store(pair, exp(load(pair)));
  const float a = pair[0], b = pair[1];
  *m = highest;
  *l = *l * a + lb * b;
  for_vectors(head_dim, [=](size_t c, auto count) {
    store(o + c, load(o + c, count) * splat(a) + load(ob + c, count) * splat(b), count);
  });
}

void attend_finish(float l, size_t head_dim, float* o) {
  for_vectors(head_dim, [=](size_t c, auto count) {
    store(o + c, l == 0.0f ? splat(0.0f) : load(o + c, count) / splat(l), count);
  });
}

}  // namespace krafla::KRAFLA_KERNELS

// Scores of one block of attention and their exponentials. Positions are lanes, so a dot product
// never crosses them.
#include "kernels/generic/attend_groups.h"
#include "kernels/generic/functions.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

// Keys of kLanes positions of a page from p on, for channel c.
struct F32Keys {
  explicit F32Keys(const void* page) : k(static_cast<const float*>(page)) {}
  F32 get(size_t c, size_t p) const { return load(k + c * kPagePositions + p); }
  const float* k;
};

struct F16Keys {
  explicit F16Keys(const void* page) : k(static_cast<const uint16_t*>(page)) {}
  F32 get(size_t c, size_t p) const { return load_f16(k + c * kPagePositions + p); }
  const uint16_t* k;
};

// kVectors vectors of positions of one page from p on; the dot products are not yet scaled.
template <class Keys, size_t kN, size_t kVectors>
inline void dot_positions(const Keys& k, size_t p, const float* q, size_t ldq, size_t head_dim,
                          float* scores) {
  F32 acc[kN][kVectors];
  for (auto& row : acc) {
    for (F32& v : row) v = splat(0.0f);
  }
  for (size_t c = 0; c < head_dim; ++c) {
    F32 keys[kVectors];
#pragma GCC unroll 4
    for (size_t j = 0; j < kVectors; ++j) keys[j] = k.get(c, p + j * kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < kN; ++i) {
      const F32 qc = splat(q[i * ldq + c]);
#pragma GCC unroll 4
      for (size_t j = 0; j < kVectors; ++j) acc[i][j] = acc[i][j] + qc * keys[j];
    }
  }
  for (size_t i = 0; i < kN; ++i) {
    for (size_t j = 0; j < kVectors; ++j) {
      store(scores + i * kAttendPositions + p + j * kLanes, acc[i][j]);
    }
  }
}

template <class Keys, size_t kN>
inline void dot_page(const Keys& k, const float* q, size_t ldq, size_t head_dim, float* scores) {
  constexpr size_t kInPage = kPagePositions / kLanes;
  constexpr size_t kVectors = kWide<kN> < kInPage ? kWide<kN> : kInPage;
#pragma GCC unroll 8
  for (size_t p = 0; p < kPagePositions; p += kVectors * kLanes) {
    dot_positions<Keys, kN, kVectors>(k, p, q, ldq, head_dim, scores);
  }
}

template <class Keys>
struct PlainPages {
  template <size_t kN>
  static void dot(const AttendArgs& a, size_t query, size_t page, float* scores) {
    dot_page<Keys, kN>(Keys(a.k_pages[page]), a.q + query * a.ldq, a.ldq, a.head_dim, scores);
  }
};

// The scales are multiplied into the queries, once for 32 positions.
template <size_t kBits>
struct QuantisedPages {
  template <size_t kN>
  static void dot(const AttendArgs& a, size_t query, size_t page, float* scores) {
    if ((a.f16_keys >> page & 1) != 0) {
      PlainPages<F16Keys>::dot<kN>(a, query, page, scores);
      return;
    }
    const void* keys = a.k_pages[page];
    const auto* scales = reinterpret_cast<const uint16_t*>(static_cast<const char*>(keys) +
                                                           KvCodeBytes(kBits, a.head_dim));
    float* folded = a.o + query * a.ldo;
    float mids[kN];
    for (size_t i = 0; i < kN; ++i) {
      mids[i] = fold<kBits != 8>(a.q + (query + i) * a.ldq, scales, a.head_dim, folded + i * a.ldo);
    }
    dot_page<Codes<kBits>, kN>(Codes<kBits>(keys, a.head_dim), folded, a.ldo, a.head_dim, scores);
    if constexpr (kBits == 8) return;
    for (size_t i = 0; i < kN; ++i) {
      for (size_t p = 0; p < kPagePositions; p += kLanes) {
        float* s = scores + i * kAttendPositions + p;
        store(s, load(s) + splat(mids[i]));
      }
    }
  }

 private:
  // folded = q * s; returns the reduction of q * m.
  template <bool kMids>
  static float fold(const float* q, const uint16_t* scales, size_t head_dim, float* folded) {
    F32 sums[kParts];
    for (F32& v : sums) v = splat(0.0f);
    const auto part = [=, &sums](size_t at, size_t j, auto count) {
      const F32 v = load(q + at, count);
      store(folded + at, v * load_f16(scales + at, count), count);
      if constexpr (kMids) sums[j] = sums[j] + v * load_f16(scales + head_dim + at, count);
    };
    size_t c = 0;
    for (; c + 16 <= head_dim; c += 16) {
      for (size_t j = 0; j < kParts; ++j) part(c + j * kLanes, j, All());
    }
    for (size_t j = 0; j < kParts && c < head_dim; ++j, c += kLanes) {
      part(c, j, lanes_left(c, head_dim));
    }
    return kMids ? fold_sums(sums) : 0.0f;
  }
};

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

template <class Pages>
struct Scores {
  template <size_t kN>
  void run(size_t query) const {
    const Sight sight(a, query, kN);
    const auto begin = static_cast<size_t>(sight.begin), end = static_cast<size_t>(sight.end);
    for (size_t page = begin / kPagePositions; page * kPagePositions < end; ++page) {
      float* scores = a.scores + query * kAttendPositions + page * kPagePositions;
      Pages::template dot<kN>(a, query, page, scores);
    }
    for (size_t i = query; i < query + kN; ++i) {
      exponentials(a, i, static_cast<size_t>(a.first[i]), static_cast<size_t>(a.last[i]));
    }
  }
  const AttendArgs& a;
};

template <class Pages>
inline void attend_keys(const AttendArgs& a) {
  Scores<Pages> scores{a};
  for_groups(
      a, [&](size_t query, size_t n) { with_count<kAttendQueries>(n, query, scores); },
      [&](size_t query) {
        a.m[query] = -__builtin_inff();
        a.l[query] = 0.0f;
      });
}

}  // namespace

void attend_keys_f32(const AttendArgs& args) { attend_keys<PlainPages<F32Keys>>(args); }
void attend_keys_f16(const AttendArgs& args) { attend_keys<PlainPages<F16Keys>>(args); }
void attend_keys_q8(const AttendArgs& args) { attend_keys<QuantisedPages<8>>(args); }
void attend_keys_q6(const AttendArgs& args) { attend_keys<QuantisedPages<6>>(args); }
void attend_keys_q4(const AttendArgs& args) { attend_keys<QuantisedPages<4>>(args); }

}  // namespace krafla::KRAFLA_KERNELS

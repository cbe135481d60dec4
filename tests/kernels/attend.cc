// Attention blocks: windows of all kinds, head sizes, one query and many; what is not seen is never
// used, whatever lies there.
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr size_t kPages = kAttendPositions / kPagePositions;

struct Windows {
  const char* name;
  int32_t (*first)(size_t query, Random&);
  int32_t (*last)(size_t query, Random&);
};
const Windows kWindows[] = {
    {"decode", [](size_t, Random&) { return 0; }, [](size_t, Random&) { return 201; }},
    {"whole", [](size_t, Random&) { return 0; }, [](size_t, Random&) { return 256; }},
    {"one", [](size_t, Random&) { return 255; }, [](size_t, Random&) { return 256; }},
    {"causal", [](size_t, Random&) { return 0; },
     [](size_t i, Random&) { return static_cast<int32_t>(i * 7 % 257); }},
    {"sliding", [](size_t i, Random&) { return static_cast<int32_t>(i * 5 % 200); },
     [](size_t i, Random&) { return static_cast<int32_t>(i * 5 % 200 + 56); }},
    {"any", [](size_t, Random& r) { return static_cast<int32_t>(r.below(120)); },
     [](size_t, Random& r) { return static_cast<int32_t>(120 + r.below(137)); }},
    {"disjoint", [](size_t i, Random&) { return static_cast<int32_t>(i % 4 * 60); },
     [](size_t i, Random&) { return static_cast<int32_t>(i % 4 * 60 + 13); }}};

// Keys and values of one type: f32 and f16 plain, 8, 6 and 4 bits quantised.
struct Kind {
  const char* name;
  size_t bits;
  Attend KernelTable::*keys;
  Attend KernelTable::*values;

  bool quantised() const { return bits < 16; }
  size_t key_bytes(size_t head_dim) const {
    return quantised() ? KvKeyBytes(bits, head_dim) : kPagePositions * head_dim * bits / 8;
  }
  size_t value_bytes(size_t head_dim) const {
    return quantised() ? KvValueBytes(bits, head_dim) : kPagePositions * head_dim * bits / 8;
  }
};
const Kind kKinds[] = {{"f32", 32, &KernelTable::attend_keys_f32, &KernelTable::attend_values_f32},
                       {"f16", 16, &KernelTable::attend_keys_f16, &KernelTable::attend_values_f16},
                       {"q8", 8, &KernelTable::attend_keys_q8, &KernelTable::attend_values_q8},
                       {"q6", 6, &KernelTable::attend_keys_q6, &KernelTable::attend_values_q6},
                       {"q4", 4, &KernelTable::attend_keys_q4, &KernelTable::attend_values_q4}};

double element(const void* page, size_t bits, size_t i) {
  const char* at = static_cast<const char*>(page) + i * bits / 8;
  float v;
  if (bits == 32) {
    std::memcpy(&v, at, 4);
  } else {
    uint16_t h;
    std::memcpy(&h, at, 2);
    reference().f16_to_f32(&h, 1, &v);
  }
  return v;
}

void put_element(void* page, size_t bits, size_t i, float v) {
  char* at = static_cast<char*>(page) + i * bits / 8;
  if (bits == 32) {
    std::memcpy(at, &v, 4);
  } else {
    uint16_t h;
    reference().f32_to_f16(&v, 1, &h);
    std::memcpy(at, &h, 2);
  }
}

// The codes as kernels.h describes them.
int code(const void* page, size_t bits, size_t n_rows, size_t row, size_t i) {
  const auto* bytes = static_cast<const uint8_t*>(page);
  if (bits == 8) return static_cast<int8_t>(bytes[row * 32 + i]);
  const int nibble = i < 16 ? bytes[row * 16 + i] & 15 : bytes[row * 16 + i - 16] >> 4;
  const int high = nibble < 8 ? nibble : nibble - 16;
  if (bits == 4) return high;
  const size_t half = (n_rows + 1) / 2;
  const int low = bytes[n_rows * 16 + row % half * 16 + i % 16];
  return 4 * high + (low >> (4 * (row / half) + 2 * (i / 16)) & 3);
}

double key(const Kind& kind, const AttendArgs& a, size_t p, size_t c) {
  const void* page = a.k_pages[p / 32];
  const size_t n = a.head_dim;
  if (!kind.quantised()) return element(page, kind.bits, c * 32 + p % 32);
  if ((a.f16_keys >> (p / 32) & 1) != 0) return element(page, 16, c * 32 + p % 32);
  const void* scales = static_cast<const char*>(page) + KvCodeBytes(kind.bits, n);
  const double m = kind.bits == 8 ? 0 : element(scales, 16, n + c);
  return element(scales, 16, c) * code(page, kind.bits, n, c, p % 32) + m;
}

double value(const Kind& kind, const AttendArgs& a, size_t p, size_t c) {
  const void* page = a.v_pages[p / 32];
  if (!kind.quantised()) return element(page, kind.bits, p % 32 * a.head_dim + c);
  const size_t n_groups = KvGroups(a.head_dim), n_rows = 32 * n_groups, g = c / 32;
  const void* scales = static_cast<const char*>(page) + KvCodeBytes(kind.bits, n_rows);
  return element(scales, 16, g * 32 + p % 32) *
         code(page, kind.bits, n_rows, g * 32 + p % 32, c % 32);
}

// A block with one page after the other, each between guards; what no query sees is NaN (but for
// codes and the scales of keys, which have no such value or serve the whole page), pages without a
// visible position are null.
class Block {
 public:
  Block(const Kind& kind, const Windows& windows, size_t head_dim, size_t n_queries, float softcap,
        Side side)
      : random_(head_dim * 31 + n_queries),
        q_((n_queries - 1) * (head_dim + 2) + head_dim, side),
        first_(n_queries, side),
        last_(n_queries, side) {
    int32_t begin = 256, end = 0;
    for (size_t i = 0; i < n_queries; ++i) {
      first_[i] = windows.first(i, random_);
      last_[i] = windows.last(i, random_);
      if (first_[i] >= last_[i]) continue;
      begin = first_[i] < begin ? first_[i] : begin;
      end = last_[i] > end ? last_[i] : end;
    }
    for (float& v : q_) v = random_.uniform(-2.0f, 2.0f);
    args_ = {q_.data(),    head_dim + 2,
             n_queries,    first_.data(),
             last_.data(), k_pages_,
             v_pages_,     0,
             head_dim,     1.0f / std::sqrt(static_cast<float>(head_dim)),
             softcap,      nullptr,
             nullptr,      nullptr,
             nullptr,      head_dim + 1};
    for (int32_t page = 0; page < static_cast<int32_t>(kPages); ++page) {
      if (page * 32 >= end || page * 32 + 32 <= begin) continue;
      const bool plain = kind.quantised() && random_.below(3) == 0;
      args_.f16_keys |= static_cast<uint32_t>(plain) << page;
      k_[page] = std::make_unique<Guarded<uint8_t>>(
          plain ? 64 * head_dim : kind.key_bytes(head_dim), side);
      v_[page] = std::make_unique<Guarded<uint8_t>>(kind.value_bytes(head_dim), side);
      k_pages_[page] = k_[page]->data();
      v_pages_[page] = v_[page]->data();
      if (kind.quantised()) fill_codes(kind, page, head_dim, plain, begin, end);
      for (int32_t p = 0; p < 32; ++p) {
        const bool seen = page * 32 + p >= begin && page * 32 + p < end;
        for (size_t c = 0; c < head_dim; ++c) {
          if (!kind.quantised()) {
            put_element(k_[page]->data(), kind.bits, c * 32 + p, number(seen));
            put_element(v_[page]->data(), kind.bits, p * head_dim + c, number(seen));
          } else if (plain) {
            put_element(k_[page]->data(), 16, c * 32 + p, number(seen));
          }
        }
      }
    }
  }

  const AttendArgs& args() const { return args_; }

 private:
  float number(bool seen) {
    return seen ? random_.uniform(-1.5f, 1.5f) : std::numeric_limits<float>::quiet_NaN();
  }

  void fill_codes(const Kind& kind, int32_t page, size_t head_dim, bool plain_keys, int32_t begin,
                  int32_t end) {
    for (uint8_t& byte : *v_[page]) byte = static_cast<uint8_t>(random_.bits());
    const float unit = 1.5f / static_cast<float>(1 << (kind.bits - 1));
    const size_t n_groups = KvGroups(head_dim), v_codes = KvCodeBytes(kind.bits, 32 * n_groups);
    for (size_t i = 0; i < n_groups * 32; ++i) {
      const auto p = page * 32 + static_cast<int32_t>(i % 32);
      const float s = random_.uniform(-unit, unit);
      put_element(v_[page]->data() + v_codes, 16, i, p >= begin && p < end ? s : number(false));
    }
    if (plain_keys) return;
    for (uint8_t& byte : *k_[page]) byte = static_cast<uint8_t>(random_.bits());
    uint8_t* scales = k_[page]->data() + KvCodeBytes(kind.bits, head_dim);
    for (size_t c = 0; c < head_dim; ++c) {
      put_element(scales, 16, c, random_.uniform(0.0f, unit));
      if (kind.bits != 8) put_element(scales, 16, head_dim + c, random_.uniform(-1.0f, 1.0f));
    }
  }

  Random random_;
  Guarded<float> q_;
  Guarded<int32_t> first_, last_;
  std::unique_ptr<Guarded<uint8_t>> k_[kPages], v_[kPages];
  const void* k_pages_[kPages] = {};
  const void* v_pages_[kPages] = {};
  AttendArgs args_;
};

struct Result {
  Result(AttendArgs args, const KernelTable& kernels, const Kind& kind, Side side)
      : scores(args.n_queries * 256, side),
        m(args.n_queries, side),
        l(args.n_queries, side),
        o((args.n_queries - 1) * args.ldo + args.head_dim, side) {
    args.scores = scores.data();
    args.m = m.data();
    args.l = l.data();
    args.o = o.data();
    (kernels.*kind.keys)(args);
    (kernels.*kind.values)(args);
  }
  Guarded<float> scores, m, l, o;
};

// The formulas in double.
void check_formula(const Kind& kind, const AttendArgs& a, Result& got) {
  for (size_t i = 0; i < a.n_queries; ++i) {
    std::vector<double> s(256), o(a.head_dim);
    double m = -std::numeric_limits<double>::infinity(), l = 0;
    for (int32_t p = a.first[i]; p < a.last[i]; ++p) {
      for (size_t c = 0; c < a.head_dim; ++c) {
        s[p] += static_cast<double>(a.q[i * a.ldq + c]) * key(kind, a, static_cast<size_t>(p), c);
      }
      s[p] *= a.scale;
      if (a.softcap > 0) s[p] = a.softcap * std::tanh(s[p] / a.softcap);
      m = std::fmax(m, s[p]);
    }
    for (int32_t p = a.first[i]; p < a.last[i]; ++p) {
      const double e = std::exp(s[p] - m);
      l += e;
      for (size_t c = 0; c < a.head_dim; ++c) {
        o[c] += e * value(kind, a, static_cast<size_t>(p), c);
      }
    }
    INFO("query " << i);
    if (l == 0) {
      REQUIRE(got.m[i] == -std::numeric_limits<float>::infinity());
      REQUIRE(same(got.l[i], 0.0f));
    } else {
      REQUIRE(std::fabs(got.m[i] - m) <= 2e-5);
      REQUIRE(std::fabs(got.l[i] - l) <= 4e-5 * l);
    }
    for (size_t c = 0; c < a.head_dim; ++c) {
      REQUIRE(std::fabs(got.o[i * a.ldo + c] - o[c]) <= 1e-4 * (1 + l));
    }
  }
}

void compare(const Kind& kind, const Windows& windows, size_t head_dim, size_t n_queries,
             float softcap, Side side) {
  const Block block(kind, windows, head_dim, n_queries, softcap, side);
  const AttendArgs& a = block.args();
  Result got(a, selected(), kind, side), want(a, reference(), kind, side);
  INFO(kind.name << " " << windows.name << " head " << head_dim << " queries " << n_queries
                 << " cap " << softcap);
  REQUIRE(first_difference(got.m.data(), want.m.data(), n_queries) == n_queries);
  REQUIRE(first_difference(got.l.data(), want.l.data(), n_queries) == n_queries);
  for (size_t i = 0; i < n_queries; ++i) {
    const size_t at = i * a.ldo;
    REQUIRE(first_difference(got.o.data() + at, want.o.data() + at, head_dim) == head_dim);
  }
  check_formula(kind, a, want);
  check_formula(kind, a, got);
  // A query alone gets what it got in company.
  AttendArgs one = a;
  const size_t i = n_queries / 2;
  one.q += i * a.ldq;
  one.first += i;
  one.last += i;
  one.n_queries = 1;
  Result alone(one, selected(), kind, side);
  REQUIRE(same(alone.m[0], want.m[i]));
  REQUIRE(same(alone.l[0], want.l[i]));
  REQUIRE(first_difference(alone.o.data(), want.o.data() + i * a.ldo, head_dim) == head_dim);
}

TEST_CASE("attention equals the scalar one and the formulas") {
  for (const Kind& kind : kKinds) {
    for (const Windows& windows : kWindows) {
      for (const size_t head_dim : {1, 16, 24, 64, 80, 96, 128, 256}) {
        for (const size_t n_queries : {1, 2, 3, 4, 5, 7, 9, 41}) {
          if (n_queries == 41 && head_dim != 24) continue;
          if (kind.quantised() && head_dim > 64 && n_queries > 1 && n_queries != 7) continue;
          for (const Side side : kSides) {
            compare(kind, windows, head_dim, n_queries, n_queries == 3 ? 2.0f : 0.0f, side);
          }
        }
      }
    }
  }
}

TEST_CASE("equal zeros keep the sign of the first in their lane") {
  // Products that underflow: scores of +0 and -0, between which only the order of operands decides.
  if (kFlushes) return;
  Random random(4);
  std::vector<float> k(kAttendPositions), v(kAttendPositions, 1.0f);
  const float q = 1e-45f;
  const int32_t first = 3, last = 250;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const void *k_pages[kPages], *v_pages[kPages];
    for (float& x : k) x = random.below(2) == 0 ? 1.0f : -1.0f;
    for (size_t i = 0; i < kPages; ++i) {
      k_pages[i] = &k[i * kPagePositions];
      v_pages[i] = &v[i * kPagePositions];
    }
    const AttendArgs a = {&q, 1,      1, &first,  &last,   k_pages, v_pages, 0,
                          1,  0.125f, 0, nullptr, nullptr, nullptr, nullptr, 1};
    Result got(a, selected(), kKinds[0], Side::kBack);
    Result want(a, reference(), kKinds[0], Side::kBack);
    REQUIRE(same(got.m[0], want.m[0]));
    REQUIRE(got.l[0] == 247.0f);
  }
}

TEST_CASE("merging blocks gives the whole") {
  for (const size_t n : {1, 7, 8, 24, 64, 80}) {
    for (const Side side : kSides) {
      Random random(n);
      Guarded<float> o(n, side), ob(n, side), start(n), want(n);
      for (size_t i = 0; i < n; ++i) {
        start[i] = random.uniform(-2.0f, 2.0f);
        ob[i] = random.uniform(-2.0f, 2.0f);
      }
      for (const float mb : {-3.0f, 0.5f, 1.5f, 120.0f, -120.0f}) {
        for (const float l : {0.0f, 1.5f}) {
          for (const float lb : {0.0f, 2.5f}) {
            float m = 0.5f, sum = l, wm = 0.5f, wsum = l;
            std::memcpy(o.data(), start.data(), 4 * n);
            std::memcpy(want.data(), start.data(), 4 * n);
            selected().attend_merge(mb, lb, ob.data(), n, &m, &sum, o.data());
            reference().attend_merge(mb, lb, ob.data(), n, &wm, &wsum, want.data());
            REQUIRE(same(m, wm));
            REQUIRE(same(sum, wsum));
            REQUIRE(first_difference(o.data(), want.data(), n) == n);
            const double high = lb == 0 ? 0.5 : l == 0 ? mb : std::fmax(0.5, mb);
            const double a = l == 0 && lb != 0 ? 0 : std::exp(0.5 - high);
            const double b = lb == 0 ? 0 : std::exp(mb - high);
            REQUIRE(m == static_cast<float>(high));
            REQUIRE(std::fabs(sum - (l * a + lb * b)) <= 1e-6);
            for (size_t c = 0; c < n; ++c) {
              REQUIRE(std::fabs(o[c] - (start[c] * a + ob[c] * b)) <= 2e-6);
            }
          }
        }
      }
      std::memcpy(o.data(), start.data(), 4 * n);
      selected().attend_finish(3.0f, n, o.data());
      for (size_t c = 0; c < n; ++c) REQUIRE(o[c] == start[c] / 3.0f);
      selected().attend_finish(0.0f, n, o.data());
      for (size_t c = 0; c < n; ++c) REQUIRE(same(o[c], 0.0f));
    }
  }
}

TEST_CASE("attention", "[!benchmark]") {
  for (const Kind& kind : kKinds) {
    for (const size_t n_queries : {1, 3, 96}) {
      const Block block(kind, kWindows[1], 64, n_queries, 0.0f, Side::kBack);
      BENCHMARK(std::to_string(n_queries) + " queries x 256 positions x 64, " + kind.name) {
        return Result(block.args(), selected(), kind, Side::kBack).m[0];
      };
    }
  }
}

}  // namespace
}  // namespace krafla

// Attention blocks: windows of all kinds, head sizes, one query and many; what is not seen is never
// used, whatever lies there.
#include <cmath>
#include <limits>
#include <memory>
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

// A block with one page after the other, each between guards; what no query sees is NaN, pages
// without a visible position are null.
template <class T>
class Block {
 public:
  Block(const Windows& windows, size_t head_dim, size_t n_queries, float softcap, Side side)
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
    for (int32_t page = 0; page < static_cast<int32_t>(kPages); ++page) {
      if (page * 32 >= end || page * 32 + 32 <= begin) continue;
      k_[page] = std::make_unique<Guarded<T>>(32 * head_dim, side);
      v_[page] = std::make_unique<Guarded<T>>(32 * head_dim, side);
      for (int32_t p = 0; p < 32; ++p) {
        const bool seen = page * 32 + p >= begin && page * 32 + p < end;
        for (size_t c = 0; c < head_dim; ++c) {
          (*k_[page])[c * 32 + p] = element(seen);
          (*v_[page])[p * head_dim + c] = element(seen);
        }
      }
      k_pages_[page] = k_[page]->data();
      v_pages_[page] = v_[page]->data();
    }
    args_ = {q_.data(),     head_dim + 2, n_queries,
             first_.data(), last_.data(), k_pages_,
             v_pages_,      head_dim,     1.0f / std::sqrt(static_cast<float>(head_dim)),
             softcap,       nullptr,      nullptr,
             nullptr,       nullptr,      head_dim + 1};
  }

  const AttendArgs& args() const { return args_; }

 private:
  T element(bool seen) {
    const float v = seen ? random_.uniform(-1.5f, 1.5f) : std::numeric_limits<float>::quiet_NaN();
    if constexpr (sizeof(T) == 4) {
      return v;
    } else {
      T h;
      reference().f32_to_f16(&v, 1, &h);
      return h;
    }
  }

  Random random_;
  Guarded<float> q_;
  Guarded<int32_t> first_, last_;
  std::unique_ptr<Guarded<T>> k_[kPages], v_[kPages];
  const void* k_pages_[kPages] = {};
  const void* v_pages_[kPages] = {};
  AttendArgs args_;
};

struct Result {
  Result(AttendArgs args, void (*attend)(const AttendArgs&), Side side)
      : scores(args.n_queries * 256, side),
        m(args.n_queries, side),
        l(args.n_queries, side),
        o((args.n_queries - 1) * args.ldo + args.head_dim, side) {
    args.scores = scores.data();
    args.m = m.data();
    args.l = l.data();
    args.o = o.data();
    attend(args);
  }
  Guarded<float> scores, m, l, o;
};

template <class T>
float value(T x) {
  if constexpr (sizeof(T) == 4) {
    return x;
  } else {
    float v;
    reference().f16_to_f32(&x, 1, &v);
    return v;
  }
}

// The formulas in double.
template <class T>
void check_formula(const AttendArgs& a, Result& got) {
  for (size_t i = 0; i < a.n_queries; ++i) {
    std::vector<double> s(256), o(a.head_dim);
    double m = -std::numeric_limits<double>::infinity(), l = 0;
    for (int32_t p = a.first[i]; p < a.last[i]; ++p) {
      const T* k = static_cast<const T*>(a.k_pages[p / 32]);
      for (size_t c = 0; c < a.head_dim; ++c) {
        s[p] += static_cast<double>(a.q[i * a.ldq + c]) * value(k[c * 32 + p % 32]);
      }
      s[p] *= a.scale;
      if (a.softcap > 0) s[p] = a.softcap * std::tanh(s[p] / a.softcap);
      m = std::fmax(m, s[p]);
    }
    for (int32_t p = a.first[i]; p < a.last[i]; ++p) {
      const T* v = static_cast<const T*>(a.v_pages[p / 32]);
      const double e = std::exp(s[p] - m);
      l += e;
      for (size_t c = 0; c < a.head_dim; ++c) o[c] += e * value(v[p % 32 * a.head_dim + c]);
    }
    INFO("query " << i);
    if (l == 0) {
      REQUIRE(got.m[i] == -std::numeric_limits<float>::infinity());
      REQUIRE(same(got.l[i], 0.0f));
    } else {
      REQUIRE(std::fabs(got.m[i] - m) <= 1e-5);
      REQUIRE(std::fabs(got.l[i] - l) <= 2e-5 * l);
    }
    for (size_t c = 0; c < a.head_dim; ++c) {
      REQUIRE(std::fabs(got.o[i * a.ldo + c] - o[c]) <= 5e-5 * (1 + l));
    }
  }
}

template <class T>
void compare(const Windows& windows, size_t head_dim, size_t n_queries, float softcap, Side side) {
  const auto member = sizeof(T) == 4 ? &KernelTable::attend_f32 : &KernelTable::attend_f16;
  const Block<T> block(windows, head_dim, n_queries, softcap, side);
  const AttendArgs& a = block.args();
  Result got(a, selected().*member, side), want(a, reference().*member, side);
  INFO(windows.name << " head " << head_dim << " queries " << n_queries << " cap " << softcap);
  REQUIRE(first_difference(got.m.data(), want.m.data(), n_queries) == n_queries);
  REQUIRE(first_difference(got.l.data(), want.l.data(), n_queries) == n_queries);
  for (size_t i = 0; i < n_queries; ++i) {
    const size_t at = i * a.ldo;
    REQUIRE(first_difference(got.o.data() + at, want.o.data() + at, head_dim) == head_dim);
  }
  check_formula<T>(a, want);
  check_formula<T>(a, got);
  // A query alone gets what it got in company.
  AttendArgs one = a;
  const size_t i = n_queries / 2;
  one.q += i * a.ldq;
  one.first += i;
  one.last += i;
  one.n_queries = 1;
  Result alone(one, selected().*member, side);
  REQUIRE(same(alone.m[0], want.m[i]));
  REQUIRE(same(alone.l[0], want.l[i]));
  REQUIRE(first_difference(alone.o.data(), want.o.data() + i * a.ldo, head_dim) == head_dim);
}

TEST_CASE("attention equals the scalar one and the formulas") {
  for (const Windows& windows : kWindows) {
    for (const size_t head_dim : {1, 16, 24, 64, 80, 96, 128, 256}) {
      for (const size_t n_queries : {1, 2, 3, 4, 5, 7, 9, 41}) {
        if (n_queries == 41 && head_dim != 24) continue;
        for (const Side side : kSides) {
          const float softcap = n_queries == 3 ? 2.0f : 0.0f;
          compare<float>(windows, head_dim, n_queries, softcap, side);
          compare<uint16_t>(windows, head_dim, n_queries, softcap, side);
        }
      }
    }
  }
}

TEST_CASE("equal zeros keep the sign of the first in their lane") {
  // Products that underflow: scores of +0 and -0, between which only the order of operands decides.
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
    const AttendArgs a = {&q,     1, 1,       &first,  &last,   k_pages, v_pages, 1,
                          0.125f, 0, nullptr, nullptr, nullptr, nullptr, 1};
    Result got(a, selected().attend_f32, Side::kBack);
    Result want(a, reference().attend_f32, Side::kBack);
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
  const Block<float> few(kWindows[1], 64, 3, 0.0f, Side::kBack);
  const Block<float> many(kWindows[1], 64, 96, 0.0f, Side::kBack);
  BENCHMARK("3 queries x 256 positions x 64, f32") {
    return Result(few.args(), selected().attend_f32, Side::kBack).m[0];
  };
  BENCHMARK("96 queries x 256 positions x 64, f32") {
    return Result(many.args(), selected().attend_f32, Side::kBack).m[0];
  };
}

}  // namespace
}  // namespace krafla

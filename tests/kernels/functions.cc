// The float functions: within their bounds of the true value (long double libm), over all
// exponents; and equal to the scalar ones bit for bit.
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

struct Function {
  const char* name;
  Map KernelTable::*map;
  long double (*exact)(long double);
  float lowest, highest;  // where the bound holds
  double ulps;
};

const Function kFunctions[] = {
    {"exp", &KernelTable::map_exp, [](long double x) { return std::exp(x); }, -87.3f, 88.72283f, 2},
    {"sigmoid", &KernelTable::map_sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); },
     -87.3f, FLT_MAX, 3},
    {"tanh", &KernelTable::map_tanh, [](long double x) { return std::tanh(x); }, -FLT_MAX, FLT_MAX,
     2},
    {"erf", &KernelTable::map_erf, [](long double x) { return std::erf(x); }, -FLT_MAX, FLT_MAX, 2},
    {"log1p", &KernelTable::map_log1p, [](long double x) { return std::log1p(x); }, -0.99999994f,
     FLT_MAX, 2},
    {"softplus", &KernelTable::map_softplus,
     [](long double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x))); }, -87.3f,
     FLT_MAX, 2}};

double error_in_ulps(float got, long double want) {
  int exponent;
  std::frexp(want, &exponent);
  const int least = -149;
  const long double ulp = std::ldexp(1.0L, exponent - 24 < least ? least : exponent - 24);
  return static_cast<double>(std::fabs(got - want) / ulp);
}

TEST_CASE("functions are within their bounds") {
  constexpr size_t kChunk = 4096;
  std::vector<float> x(kChunk), y(kChunk), want(kChunk);
  for (const Function& f : kFunctions) {
    double worst = 0;
    float where = 0;
    for (uint64_t bits = 0; bits < 0x100000000u;) {
      for (float& v : x) {
        const uint32_t low = static_cast<uint32_t>(bits);
        std::memcpy(&v, &low, 4);
        bits += 4093;  // a prime: all low bits occur
      }
      (selected().*f.map)(x.data(), kChunk, y.data());
      (reference().*f.map)(x.data(), kChunk, want.data());
      for (size_t i = 0; i < kChunk; ++i) {
        if (x[i] != x[i]) REQUIRE(y[i] != y[i]);
        if (!(x[i] >= f.lowest && x[i] <= f.highest)) continue;
        if (kFlushes && std::fabs(x[i]) < 1e-36f) continue;
        if (!same(y[i], want[i])) FAIL(f.name << "(" << x[i] << ") is not the scalar value");
        const double error = error_in_ulps(y[i], f.exact(x[i]));
        if (error > worst) worst = error, where = x[i];
      }
    }
    INFO(f.name << " at " << where);
    CHECK(worst <= f.ulps);
    CHECK(worst > 0.4);  // a comparison that cannot fail would show no rounding
  }
}

TEST_CASE("functions at their edges") {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const struct {
    Map KernelTable::*map;
    float x, y;
  } kCases[] = {{&KernelTable::map_exp, 0.0f, 1.0f},      {&KernelTable::map_exp, -0.0f, 1.0f},
                {&KernelTable::map_exp, -87.31f, 0.0f},   {&KernelTable::map_exp, -inf, 0.0f},
                {&KernelTable::map_exp, -FLT_MAX, 0.0f},  {&KernelTable::map_exp, 88.73f, inf},
                {&KernelTable::map_exp, FLT_MAX, inf},    {&KernelTable::map_exp, inf, inf},
                {&KernelTable::map_exp, nan, nan},        {&KernelTable::map_sigmoid, inf, 1.0f},
                {&KernelTable::map_sigmoid, -inf, 0.0f},  {&KernelTable::map_sigmoid, 0.0f, 0.5f},
                {&KernelTable::map_tanh, inf, 1.0f},      {&KernelTable::map_tanh, -inf, -1.0f},
                {&KernelTable::map_tanh, 1e-40f, 1e-40f}, {&KernelTable::map_erf, inf, 1.0f},
                {&KernelTable::map_erf, -inf, -1.0f},     {&KernelTable::map_erf, -0.0f, -0.0f},
                {&KernelTable::map_log1p, inf, inf},      {&KernelTable::map_log1p, 0.0f, 0.0f},
                {&KernelTable::map_softplus, inf, inf},   {&KernelTable::map_softplus, -inf, 0.0f},
                {&KernelTable::map_softplus, nan, nan}};
  for (const auto& c : kCases) {
    for (const KernelTable* set : {&selected(), &reference()}) {
      float y;
      (set->*c.map)(&c.x, 1, &y);
      INFO("x " << c.x << " gives " << y << ", want " << c.y);
      REQUIRE(same(y, c.y));
    }
  }
}

TEST_CASE("functions stay inside their rows, in place too") {
  for (const Function& f : kFunctions) {
    for (const size_t n : kCounts) {
      for (const Side side : kSides) {
        Random random(n);
        Guarded<float> x(n, side), y(n, side), want(n);
        for (float& v : x) v = std::fmax(random.odd(), f.lowest);
        (selected().*f.map)(x.data(), n, y.data());
        (reference().*f.map)(x.data(), n, want.data());
        (selected().*f.map)(x.data(), n, x.data());
        INFO(f.name << " n " << n);
        REQUIRE(first_difference(y.data(), want.data(), n) == n);
        REQUIRE(first_difference(x.data(), want.data(), n) == n);
      }
    }
  }
}

TEST_CASE("functions", "[!benchmark]") {
  std::vector<float> x(4096), y(4096);
  Random random(1);
  for (float& v : x) v = random.uniform(-4.0f, 4.0f);
  for (const Function& f : kFunctions) {
    for (float& v : x) v = std::fmax(v, f.lowest);
    BENCHMARK(std::string(f.name) + " of 4096 floats") {
      (selected().*f.map)(x.data(), x.size(), y.data());
      return y[0];
    };
  }
}

}  // namespace
}  // namespace krafla

// lib/base/math.h against the C library's long double functions (64-bit significand on x86; where
// long double is no wider than double the comparison still holds within the stated bounds), and
// against stored bits, which must come out the same on every machine.
#include "lib/base/math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Uniform in [low, high), the same on every machine.
class Points {
 public:
  double Next(double low, double high) {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (static_cast<double>(state_ >> 11) * 0x1p-53);
  }

 private:
  uint64_t state_ = 1;
};

double RelativeError(double got, long double want) {
  return static_cast<double>(std::fabs((got - want) / want));
}

TEST_CASE("Exp has a relative error below 1e-15") {
  Points points;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x = points.Next(-708, 709.7);
    worst = std::max(worst, RelativeError(Exp(x), std::exp(static_cast<long double>(x))));
    const double y = points.Next(-2, 2);
    worst = std::max(worst, RelativeError(Exp(y), std::exp(static_cast<long double>(y))));
  }
  INFO("worst " << worst);
  CHECK(worst < 1e-15);
}

TEST_CASE("Exp at its ends") {
  CHECK(Exp(0) == 1);
  CHECK(Exp(-0.0) == 1);
  CHECK(Exp(710) == kInf);
  CHECK(Exp(kInf) == kInf);
  CHECK(Exp(709.78) < kInf);
  CHECK(Exp(709.785) == kInf);
  CHECK(Exp(-746) == 0);
  CHECK(Exp(-kInf) == 0);
  CHECK(Exp(-745.13) == std::numeric_limits<double>::denorm_min());
  CHECK(std::fabs(Exp(-730) - std::exp(-730.0)) <= std::numeric_limits<double>::denorm_min());
  CHECK(std::isnan(Exp(kNan)));
}

TEST_CASE("Log has a relative error below 1e-15") {
  Points points;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const double near_one = points.Next(0.5, 2);
    const double anywhere =
        std::ldexp(points.Next(1, 2), static_cast<int>(points.Next(-1022, 1023)));
    const double close = 1 + points.Next(-1e-6, 1e-6);
    for (const double x : {near_one, anywhere, close}) {
      if (x == 1) continue;
      worst = std::max(worst, RelativeError(Log(x), std::log(static_cast<long double>(x))));
    }
  }
  INFO("worst " << worst);
  CHECK(worst < 1e-15);
}

TEST_CASE("Log at its ends") {
  CHECK(Log(1) == 0);
  CHECK(Log(0) == -kInf);
  CHECK(Log(-0.0) == -kInf);
  CHECK(Log(kInf) == kInf);
  CHECK(std::isnan(Log(-1)));
  CHECK(std::isnan(Log(-kInf)));
  CHECK(std::isnan(Log(kNan)));
  const double tiny = std::numeric_limits<double>::denorm_min();
  CHECK(RelativeError(Log(tiny), std::log(static_cast<long double>(tiny))) < 1e-15);
  const double huge = std::numeric_limits<double>::max();
  CHECK(RelativeError(Log(huge), std::log(static_cast<long double>(huge))) < 1e-15);
}

TEST_CASE("Pow has a relative error below 1e-15") {
  Points points;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    const double x = std::ldexp(points.Next(1, 2), static_cast<int>(points.Next(-1022, 1023)));
    const double limit = 700 / std::fabs(std::log(x) + 1e-3);
    const double near_one = 1 + points.Next(-1e-4, 1e-4);
    const double y = points.Next(-limit, limit);
    const double big = points.Next(-6e6, 6e6);
    const double small = points.Next(-2, 2);
    const struct { double x, y; } cases[] = {{x, y}, {near_one, big}, {x, small}};
    for (const auto& c : cases) {
      const long double want =
          std::pow(static_cast<long double>(c.x), static_cast<long double>(c.y));
      if (!(want > 1e-300L && want < 1e300L)) continue;
      worst = std::max(worst, RelativeError(Pow(c.x, c.y), want));
    }
  }
  INFO("worst " << worst);
  CHECK(worst < 1e-15);
}

TEST_CASE("Pow at its ends") {
  CHECK(Pow(5, 0) == 1);
  CHECK(Pow(kNan, 0) == 1);
  CHECK(Pow(1, kNan) == 1);
  CHECK(Pow(1, kInf) == 1);
  CHECK(Pow(0, 2) == 0);
  CHECK(Pow(0, -2) == kInf);
  CHECK(Pow(kInf, 2) == kInf);
  CHECK(Pow(kInf, -2) == 0);
  CHECK(Pow(2, kInf) == kInf);
  CHECK(Pow(0.5, kInf) == 0);
  CHECK(Pow(2, -kInf) == 0);
  CHECK(Pow(10, 400) == kInf);
  CHECK(Pow(10, -400) == 0);
  CHECK(std::isnan(Pow(-1, 2)));
  CHECK(std::isnan(Pow(kNan, 1)));
  CHECK(std::isnan(Pow(2, kNan)));
  // Powers that are doubles come out exact.
  for (int i = -1000; i <= 1000; ++i) CHECK(Pow(2, i) == std::ldexp(1.0, i));
  CHECK(Pow(10, 15) == 1e15);
  CHECK(Pow(3, 20) == 3486784401.0);
}

TEST_CASE("Sin and Cos have an absolute error below 1e-15 to 2^30") {
  Points points;
  double worst = 0;
  for (int i = 0; i < 300000; ++i) {
    for (const double bound : {0x1p30, 0x1p20, 1000.0, 4.0}) {
      const double x = points.Next(-bound, bound);
      const long double wide = x;
      worst = std::max(worst, static_cast<double>(std::fabs(Sin(x) - std::sin(wide))));
      worst = std::max(worst, static_cast<double>(std::fabs(Cos(x) - std::cos(wide))));
    }
  }
  // Multiples of pi/2, where the reduction cancels most.
  for (int64_t n = -(683565275); n < 683565275; n += 6607) {
    const double x = static_cast<double>(n) * 1.5707963267948966;
    const long double wide = x;
    worst = std::max(worst, static_cast<double>(std::fabs(Sin(x) - std::sin(wide))));
    worst = std::max(worst, static_cast<double>(std::fabs(Cos(x) - std::cos(wide))));
  }
  INFO("worst " << worst);
#if defined(_WIN32)  // whose long double sine is the x87's, with a pi of 66 bits
  CHECK(worst < 1e-11);
#else
  CHECK(worst < 1e-15);
#endif
}

TEST_CASE("Sin and Cos at their ends") {
  CHECK(Sin(0) == 0);
  CHECK(Cos(0) == 1);
  CHECK(std::isfinite(Sin(0x1p30)));
  CHECK(std::isfinite(Cos(-0x1p30)));
  CHECK(std::isnan(Sin(0x1.8p30)));
  CHECK(std::isnan(Cos(kInf)));
  CHECK(std::isnan(Sin(kNan)));
  CHECK(Sin(1e-300) == 1e-300);
}

TEST_CASE("the bits of a long walk through every function are fixed") {
  Points points;
  uint64_t hash = 1469598103934665603ull;
  const auto add = [&hash](double value) {
    hash = (hash ^ std::bit_cast<uint64_t>(value)) * 1099511628211ull;
  };
  for (int i = 0; i < 100000; ++i) {
    add(Exp(points.Next(-750, 715)));
    add(Log(points.Next(0, 100)));
    const double base = points.Next(0, 100);  // the order of arguments is the compiler's choice
    add(Pow(base, points.Next(-50, 50)));
    add(Sin(points.Next(-0x1p30, 0x1p30)));
    add(Cos(points.Next(-1000, 1000)));
  }
  CHECK(hash == 0xd94225159758527e);
}

}  // namespace
}  // namespace krafla

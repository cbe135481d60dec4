// Exp, Log, Pow, Sin and Cos from IEEE basic operations alone. Arguments are reduced with constants
// cut into parts whose products with small integers are exact (Cody and Waite), then a Taylor
// series long enough to fall below half a unit in the last place is summed by Horner's rule: on
// these short ranges a minimax polynomial would save two terms, and the series needs no table of
// fitted numbers. Pow carries its logarithm as a pair of doubles, because exp() turns absolute
// error into relative error.
#include "lib/base/math.h"

#include <bit>
#include <cstdint>
#include <limits>

namespace krafla {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts: the first has 21 trailing zero bits, so k * kLn2Hi is exact for |k| < 2^21.
constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;

// Nearest integer, ties to even, for |x| < 2^51: the sum has no room for a fraction.
double RoundToInteger(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// 2^k for a normal result.
double PowerOfTwo(int k) { return std::bit_cast<double>(static_cast<uint64_t>(k + 1023) << 52); }

// An unevaluated sum hi + lo with |lo| at most half a unit in the last place of hi.
struct Pair {
  double hi;
  double lo;
};

Pair FastSum(double a, double b) {  // |a| >= |b|
  const double hi = a + b;
  return {hi, b - (hi - a)};
}

Pair Sum(double a, double b) {
  const double hi = a + b;
  const double b_part = hi - a;
  return {hi, (a - (hi - b_part)) + (b - b_part)};
}

// a * b exactly (Dekker), without a fused multiply-add; |a| and |b| below 2^990.
Pair Product(double a, double b) {
  constexpr double kSplit = 0x1p27 + 1;
  const double a_big = a * kSplit;
  const double a_hi = a_big - (a_big - a);
  const double a_lo = a - a_hi;
  const double b_big = b * kSplit;
  const double b_hi = b_big - (b_big - b);
  const double b_lo = b - b_hi;
  const double hi = a * b;
  return {hi, ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo};
}

Pair Product(Pair a, Pair b) {
  const Pair p = Product(a.hi, b.hi);
  return FastSum(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

// exp(x + extra) for a small `extra`.
double ExpSum(double x, double extra) {
  if (x > 709.79) return kInf;
  if (x < -745.14) return 0;
  constexpr double kLog2E = 0x1.71547652b82fep0;
  const double k = RoundToInteger(x * kLog2E);
  const double r = ((x - k * kLn2Hi) - k * kLn2Lo) + extra;  // |r| <= 0.347
  // Sum of r^n / n! from n = 2 to 13, over r^2; the next term is below 5e-18.
  constexpr double kInverseFactorial[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0,
                                          1.0 / 3628800.0,    1.0 / 362880.0,    1.0 / 40320.0,
                                          1.0 / 5040.0,       1.0 / 720.0,       1.0 / 120.0,
                                          1.0 / 24.0,         1.0 / 6.0,         1.0 / 2.0};
  double sum = 0;
  for (const double c : kInverseFactorial) sum = sum * r + c;
  const double value = 1 + (r + r * r * sum);
  // Two steps, so that neither power leaves the normal range and a denormal result is rounded once.
  const int n = static_cast<int>(k);
  const int half = n / 2;
  return (value * PowerOfTwo(half)) * PowerOfTwo(n - half);
}

// x = m * 2^k with m in [sqrt(1/2), sqrt(2)), for finite x > 0.
struct Split {
  double m;
  int k;
};
Split SplitExponent(double x) {
  int k = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    k = -54;
  }
  const uint64_t bits = std::bit_cast<uint64_t>(x);
  k += static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFFull) | 0x3FF0000000000000ull);
  if (m >= 0x1.6a09e667f3bcdp0) {
    m *= 0.5;
    ++k;
  }
  return {m, k};
}

// Sum of 2 z^n / (2n + 1) for n = first..12, over z^first: what log((1 + s) / (1 - s)) / s has
// beyond its first terms, z = s^2 <= 0.0295.
double LogSeries(double z, int first) {
  constexpr double kOdd[] = {2.0 / 25, 2.0 / 23, 2.0 / 21, 2.0 / 19, 2.0 / 17, 2.0 / 15,
                             2.0 / 13, 2.0 / 11, 2.0 / 9,  2.0 / 7,  2.0 / 5,  2.0 / 3};
  double sum = 0;
  for (int i = 0; i <= 12 - first; ++i) sum = sum * z + kOdd[i];
  return sum;
}

// log(x) to about 100 bits less the cancellation with k ln 2, for finite x > 0.
Pair LogPair(double x) {
  const auto [m, k] = SplitExponent(x);
  const double f = m - 1;
  const Pair d = Sum(m, 1);
  const double s_hi = f / d.hi;
  const Pair back = Product(s_hi, d.hi);
  const Pair s = FastSum(s_hi, (((f - back.hi) - back.lo) - s_hi * d.lo) / d.hi);
  const Pair z = Product(s, s);
  // log m = s (2 + 2z/3 + z^2 (2/5 + ...)); the first two terms as pairs.
  const Pair two_thirds = {2.0 / 3, 0x1.5555555555555p-55};
  const Pair second = Product(z, two_thirds);
  const Pair head = Sum(2, second.hi);
  const double tail = z.hi * z.hi * LogSeries(z.hi, 2) + second.lo + head.lo;
  const Pair log_m = Product(s, FastSum(head.hi, tail));
  const Pair whole = Sum(k * kLn2Hi, log_m.hi);
  return FastSum(whole.hi, whole.lo + (k * kLn2Lo + log_m.lo));
}

// Reduces |x| <= 2^30 to r in about [-pi/4, pi/4]; returns the quadrant. The first two parts of
// pi/2 have 22 bits each, so their products with n < 2^30 and both differences are exact.
int ReduceAngle(double x, double* r) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  constexpr double kHalfPi1 = 0x1.921fb00000000p0;
  constexpr double kHalfPi2 = 0x1.5110b00000000p-22;
  constexpr double kHalfPi3 = 0x1.18469898cc517p-44;
  const double n = RoundToInteger(x * kTwoOverPi);
  *r = ((x - n * kHalfPi1) - n * kHalfPi2) - n * kHalfPi3;
  return static_cast<int>(static_cast<int64_t>(n) & 3);
}

double SinSeries(double r) {  // to r^17
  constexpr double kTerms[] = {
      1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
      1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
  const double z = r * r;
  double sum = 0;
  for (const double c : kTerms) sum = sum * z + c;
  return r + r * z * sum;
}

double CosSeries(double r) {  // to r^18
  constexpr double kTerms[] = {
      -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
      -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};
  const double z = r * r;
  double sum = 0;
  for (const double c : kTerms) sum = sum * z + c;
  return 1 - (0.5 * z - z * z * sum);
}

// sin(x + quarters * pi/2)
double SinShifted(double x, int quarters) {
  if (!(x >= -0x1p30 && x <= 0x1p30)) return kNan;
  double r;
  const int quadrant = (ReduceAngle(x, &r) + quarters) & 3;
  const double value = (quadrant & 1) ? CosSeries(r) : SinSeries(r);
  return (quadrant & 2) ? -value : value;
}

}  // namespace

double Exp(double x) { return x == x ? ExpSum(x, 0) : kNan; }

double Log(double x) {
  if (x != x || x < 0) return kNan;
  if (x == 0) return -kInf;
  if (x == kInf) return kInf;
  const auto [m, k] = SplitExponent(x);
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  // 2s = f - sf and sf = h - sh with h = f^2 / 2, so that f, which is exact, leads the sum.
  const double h = 0.5 * f * f;
  return k * kLn2Hi - ((h - (s * (h + z * LogSeries(z, 1)) + k * kLn2Lo)) - f);
}

double Pow(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y || x < 0) return kNan;
  if (x == 0) return y > 0 ? 0 : kInf;
  if (x == kInf) return y > 0 ? kInf : 0;
  const Pair log_x = LogPair(x);
  const double rough = y * log_x.hi;
  if (rough > 800) return kInf;
  if (rough < -800) return 0;
  const Pair product = Product(y, log_x.hi);
  return ExpSum(product.hi, product.lo + y * log_x.lo);
}

double Sin(double x) { return SinShifted(x, 0); }
double Cos(double x) { return SinShifted(x, 1); }

}  // namespace krafla

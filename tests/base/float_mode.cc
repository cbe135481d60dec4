// DefaultFloatMode under hosts that flush denormals, round another way: the
// arithmetic inside is the default one, and the host's word comes back whole.
#include "lib/base/float_mode.h"

#include <cfenv>
#include <limits>

#include "lib/base/math.h"
#include "tests/support/catch.h"

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

namespace krafla {
namespace {

// Operands the compiler cannot know, so that the sums are made at run time, where they stand.
[[gnu::noinline]] double Divide(double a, double b) {
  volatile double x = a, y = b;
  return x / y;
}
[[gnu::noinline]] float Halve(float a) {
  volatile float x = a;
  return x * 0.5f;
}

TEST_CASE("a host that rounds upwards") {
  const double nearest = Divide(1, 10);
  const double exp_nearest = Exp(0.3);
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
  const double third_up = Divide(1, 3);
  double third, tenth, exp_inside;
  {
    DefaultFloatMode mode;
    third = Divide(1, 3);
    tenth = Divide(1, 10);
    exp_inside = Exp(0.3);
  }
  const int after = std::fegetround();
  const double third_after = Divide(1, 3);
  std::fesetround(FE_TONEAREST);
  CHECK(after == FE_UPWARD);
  CHECK(third == 1.0 / 3);
  CHECK(third_up > third);
  CHECK(third_after == third_up);
  CHECK(tenth == nearest);
  CHECK(exp_inside == exp_nearest);
}

TEST_CASE("guards nest") {
  REQUIRE(std::fesetround(FE_DOWNWARD) == 0);
  const double down = Divide(1, 10);
  double inside, between;
  {
    DefaultFloatMode outer;
    {
      DefaultFloatMode inner;
      inside = Divide(1, 10);
    }
    between = Divide(1, 10);
  }
  const double after = Divide(1, 10);
  std::fesetround(FE_TONEAREST);
  CHECK(inside == 1.0 / 10);
  CHECK(between == 1.0 / 10);
  CHECK(down < inside);
  CHECK(after == down);
}

#if defined(__x86_64__) || defined(__i386__)
TEST_CASE("a host in flush-to-zero, denormals-are-zero and round-up mode") {
  const unsigned before = _mm_getcsr();
  const unsigned host = 0x1F80 | 0x8000 | 0x0040 | 0x4000;
  _mm_setcsr(host);
  const float flushed = Halve(std::numeric_limits<float>::min());
  float kept;
  unsigned inside;
  {
    DefaultFloatMode mode;
    inside = _mm_getcsr();
    kept = Halve(std::numeric_limits<float>::min());
    volatile double inexact = Divide(1, 3);  // raises a flag that must not reach the host
    (void)inexact;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(inside == 0x1F80);
  CHECK(flushed == 0);
  CHECK(kept == std::numeric_limits<float>::min() / 2);
  CHECK((after & ~0x3Fu) == host);  // the multiplication before the guard left flags of its own
}

TEST_CASE("flags raised inside do not show outside") {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(0x1F80);
  {
    DefaultFloatMode mode;
    volatile double inexact = Divide(1, 3);
    (void)inexact;
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(after == 0x1F80);
}
#endif

}  // namespace
}  // namespace krafla

// f16 and bf16 conversions: every 16-bit value comes back, and rounding is to nearest even.
#include "lib/quant/half.h"

#include <cmath>
#include <limits>
#include <random>

#include "kernels/kernels.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("all 16-bit floats survive a trip through f32", "[quant]") {
  for (uint32_t i = 0; i < 65536; i++) {
    const auto x = static_cast<uint16_t>(i);
    const float f = F16ToF32(x);
    if (std::isnan(f)) {
      CHECK((x & 0x7FFFu) > 0x7C00u);
    } else {
      REQUIRE(F32ToF16(f) == x);
    }
    const float b = Bf16ToF32(x);
    if (!std::isnan(b)) REQUIRE(F32ToBf16(b) == x);
  }
  CHECK(F16ToF32(0x3C00) == 1.0f);
  CHECK(F16ToF32(0x0001) == 0x1p-24f);
  CHECK(F16ToF32(0xFBFF) == -65504.0f);
}

TEST_CASE("f32 rounds to the nearest f16, ties to even", "[quant]") {
  for (uint32_t i = 0; i < 0x7BFF; i++) {
    const auto low = static_cast<uint16_t>(i);
    const float a = F16ToF32(low);
    const float b = F16ToF32(static_cast<uint16_t>(low + 1));
    const float middle = (a + b) / 2;  // exact: 12 bits
    const auto even = static_cast<uint16_t>(low + (low & 1));
    REQUIRE(F32ToF16(middle) == even);
    REQUIRE(F32ToF16(std::nextafter(middle, 0.0f)) == low);
    REQUIRE(F32ToF16(std::nextafter(middle, 1e9f)) == low + 1);
    REQUIRE(F32ToF16(-middle) == (even | 0x8000));
  }
  CHECK(F32ToF16(65519.99f) == 0x7BFF);
  CHECK(F32ToF16(65520.0f) == 0x7C00);
  CHECK(F32ToF16(std::numeric_limits<float>::infinity()) == 0x7C00);
  CHECK((F32ToF16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF) > 0x7C00);
  CHECK(F32ToBf16(3.4e38f) == 0x7F80);
  CHECK((F32ToBf16(std::numeric_limits<float>::quiet_NaN()) & 0x7FFF) > 0x7F80);
}

TEST_CASE("conversions equal the kernels'", "[quant]") {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; i++) {
    const auto bits = static_cast<uint32_t>(random());
    const float x = std::bit_cast<float>(bits);
    if (std::isnan(x)) continue;
    uint16_t half;
    kernels::f32_to_f16(&x, 1, &half);
    REQUIRE(half == F32ToF16(x));
    kernels::f32_to_bf16(&x, 1, &half);
    REQUIRE(half == F32ToBf16(x));
  }
}

}  // namespace
}  // namespace krafla

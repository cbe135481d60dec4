// f16 and bf16: every f16, and f32 bit patterns at a stride, against the compiler's own conversion
// and against arithmetic in double.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

float from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
uint32_t to_bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

// The value of an f16 by its definition.
double value_of_f16(uint32_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double v =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -v : v;
}

TEST_CASE("every f16 widens to its value") {
  std::vector<uint16_t> h(65536);
  std::vector<float> x(65536);
  for (uint32_t i = 0; i < 65536; ++i) h[i] = static_cast<uint16_t>(i);
  for (const KernelTable* set : {&selected(), &reference()}) {
    set->f16_to_f32(h.data(), h.size(), x.data());
    for (uint32_t i = 0; i < 65536; ++i) {
      const uint32_t sign = (i & 0x8000) << 16;
      if ((i & 0x7c00) != 0x7c00) {
        REQUIRE(static_cast<double>(x[i]) == value_of_f16(i));
        REQUIRE((to_bits(x[i]) & 0x80000000u) == sign);
      } else {
        // Infinities, and NaNs made quiet with their payload.
        const uint32_t payload = (i & 0x3ff) << 13;
        REQUIRE(to_bits(x[i]) == (sign | 0x7f800000u | payload | (payload != 0 ? 0x400000u : 0)));
      }
    }
  }
}

TEST_CASE("f32 narrows to the nearest f16, ties to even") {
  constexpr size_t kChunk = 4096;
  std::vector<float> x(kChunk);
  std::vector<uint16_t> got(kChunk), want(kChunk);
  uint64_t bits = 0;
  while (bits < 0x100000000u) {
    for (float& v : x) {
      v = from_bits(static_cast<uint32_t>(bits));
      bits += 1021;
    }
    selected().f32_to_f16(x.data(), kChunk, got.data());
    reference().f32_to_f16(x.data(), kChunk, want.data());
    REQUIRE(got == want);
    for (size_t i = 0; i < kChunk; ++i) {
      if (x[i] != x[i]) {
        REQUIRE((got[i] & 0x7c00) == 0x7c00);
        REQUIRE((got[i] & 0x200) == 0x200);
        continue;
      }
      // No neighbour is nearer; a tie goes to the even one. The infinite f16 stands for 65536 here.
      const uint32_t h = got[i] & 0x7fff;
      const double a = std::fabs(static_cast<double>(x[i]));
      if (a >= 65520.0) {
        REQUIRE(h == 0x7c00);
        continue;
      }
      REQUIRE(h < 0x7c00);
      const double error = std::fabs(a - value_of_f16(h));
      const double up = std::fabs(a - (h == 0x7bff ? 65536.0 : value_of_f16(h + 1)));
      const double down = h == 0 ? 1e300 : std::fabs(a - value_of_f16(h - 1));
      if (error > up || error > down || ((error == up || error == down) && h % 2 != 0)) {
        FAIL("f32 " << to_bits(x[i]) << " became " << got[i]);
      }
    }
  }
}

TEST_CASE("f16 ties, limits and NaN") {
  const struct {
    uint32_t f32;
    uint16_t f16;
  } kCases[] = {{0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x33000000, 0x0000},
                {0x33000001, 0x0001}, {0x33c00000, 0x0002}, {0x387fe000, 0x0400},
                {0x387fdfff, 0x03ff}, {0x477fefff, 0x7bff}, {0x477ff000, 0x7c00},
                {0x7f800000, 0x7c00}, {0xff800000, 0xfc00}, {0x7f800001, 0x7e00},
                {0xffc02000, 0xfe01}, {0x3f801000, 0x3c00}, {0x3f803000, 0x3c02},
                {0x00000001, 0x0000}, {0x32ffffff, 0x0000}};
  for (const auto& c : kCases) {
    const float x = from_bits(c.f32);
    for (const KernelTable* set : {&selected(), &reference()}) {
      uint16_t h;
      set->f32_to_f16(&x, 1, &h);
      INFO(c.f32);
      REQUIRE(h == c.f16);
    }
  }
}

TEST_CASE("bf16 is the upper half, rounded") {
  constexpr size_t kChunk = 4096;
  std::vector<float> x(kChunk), back(kChunk);
  std::vector<uint16_t> got(kChunk), want(kChunk);
  uint64_t bits = 0;
  while (bits < 0x100000000u) {
    for (float& v : x) {
      v = from_bits(static_cast<uint32_t>(bits));
      bits += 1021;
    }
    selected().f32_to_bf16(x.data(), kChunk, got.data());
    reference().f32_to_bf16(x.data(), kChunk, want.data());
    selected().bf16_to_f32(got.data(), kChunk, back.data());
    REQUIRE(got == want);
    for (size_t i = 0; i < kChunk; ++i) {
      const uint32_t b = to_bits(x[i]), low = b & 0xffff;
      const bool up = low > 0x8000 || (low == 0x8000 && (b & 0x10000) != 0);
      const uint32_t nearest = (b >> 16) + (up ? 1 : 0);
      const uint32_t expected = x[i] != x[i] ? (b >> 16 | 0x40) : nearest;
      REQUIRE(got[i] == expected);
      REQUIRE(to_bits(back[i]) == expected << 16);
    }
  }
}

TEST_CASE("conversions stay inside their rows") {
  for (const size_t n : kCounts) {
    for (const Side side : kSides) {
      Guarded<float> x(n, side), back(n, side), want(n);
      Guarded<uint16_t> h(n, side), g(n);
      Random random(n);
      for (float& v : x) v = random.odd();
      for (const bool bf16 : {false, true}) {
        (bf16 ? selected().f32_to_bf16 : selected().f32_to_f16)(x.data(), n, h.data());
        (bf16 ? reference().f32_to_bf16 : reference().f32_to_f16)(x.data(), n, g.data());
        REQUIRE(std::memcmp(h.data(), g.data(), 2 * n) == 0);
        (bf16 ? selected().bf16_to_f32 : selected().f16_to_f32)(h.data(), n, back.data());
        (bf16 ? reference().bf16_to_f32 : reference().f16_to_f32)(g.data(), n, want.data());
        REQUIRE(first_difference(back.data(), want.data(), n) == n);
      }
    }
  }
}

}  // namespace
}  // namespace krafla

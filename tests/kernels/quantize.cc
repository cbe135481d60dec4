// Activations into blocks of bytes.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

bool same_block(const ActBlock& a, const ActBlock& b) {
  return std::memcmp(a.q, b.q, sizeof a.q) == 0 && same(a.d, b.d) && a.sum == b.sum;
}

TEST_CASE("quantize equals the scalar one") {
  Random random(7);
  for (const size_t n : kCounts) {
    for (const Side side : kSides) {
      for (int kind = 0; kind < 4; ++kind) {
        const size_t n_blocks = (n + kBlock - 1) / kBlock;
        Guarded<float> x(n, side);
        Guarded<ActBlock> out(n_blocks, side), want(n_blocks);
        for (float& v : x) {
          const uint32_t bits = random.bits();
          v = kind == 0 ? random.uniform(-3.0f, 3.0f) : kind == 1 ? random.odd() : 0.0f;
          if (kind == 3) std::memcpy(&v, &bits, 4);  // anything, NaN and infinity included
        }
        selected().quantize(x.data(), n, out.data());
        reference().quantize(x.data(), n, want.data());
        for (size_t i = 0; i < n_blocks; ++i) {
          INFO("n " << n << " kind " << kind << " block " << i);
          REQUIRE(same_block(out[i], want[i]));
        }
      }
    }
  }
}

TEST_CASE("quantize rounds to the nearest code, ties to even") {
  // amax is 127, so d and id are 1 and the codes are the values rounded.
  float x[32] = {127.0f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, 0.49f, -126.51f, 126.49f};
  const int want[32] = {127, 0, 2, 2, 0, -2, -2, 0, -127, 126};
  ActBlock block;
  selected().quantize(x, 32, &block);
  REQUIRE(block.d == 1.0f);
  int32_t sum = 0;
  for (int i = 0; i < 32; ++i) {
    REQUIRE(block.q[i] == want[i]);
    sum += want[i];
  }
  REQUIRE(block.sum == sum);
}

TEST_CASE("quantize is near what it was given") {
  Random random(9);
  std::vector<float> x(100);
  for (float& v : x) v = random.uniform(-5.0f, 2.0f);
  std::vector<ActBlock> out(4);
  selected().quantize(x.data(), x.size(), out.data());
  for (size_t i = 0; i < 128; ++i) {
    const ActBlock& b = out[i / 32];
    const float v = i < 100 ? x[i] : 0.0f;
    REQUIRE(std::fabs(v - b.d * b.q[i % 32]) <= b.d * 0.5001f);
    REQUIRE(std::abs(b.q[i % 32]) <= 127);
  }
  for (const ActBlock& b : out) {
    int sum = 0;
    for (const int8_t q : b.q) sum += q;
    REQUIRE(b.sum == sum);
  }
}

TEST_CASE("quantize takes blocks without a normal scale for zero") {
  for (const float v : {0.0f, -0.0f, 1e-40f, 1e-37f}) {
    std::vector<float> x(32, v);
    ActBlock block;
    selected().quantize(x.data(), 32, &block);
    REQUIRE(same(block.d, 0.0f));
    REQUIRE(block.sum == 0);
    for (const int8_t q : block.q) REQUIRE(q == 0);
  }
}

}  // namespace
}  // namespace krafla

// The measuring kernels do what they say: read everything, count what they did.
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("measure_read reads every byte and no other") {
  for (const size_t n : {0, 1, 3, 4, 31, 32, 33, 255, 256, 257, 1000, 4096, 5003}) {
    for (const Side side : kSides) {
      Guarded<uint8_t> data(n, side);
      Random random(n);
      uint32_t sum = 0;
      for (size_t i = 0; i < n; ++i) {
        data[i] = static_cast<uint8_t>(random.bits());
        sum += static_cast<uint32_t>(data[i]) << 8 * (i % 4);
      }
      REQUIRE(selected().measure_read(data.data(), n) == sum);
      REQUIRE(reference().measure_read(data.data(), n) == sum);
    }
  }
}

TEST_CASE("measure_int8 counts its multiply-adds") {
  const uint64_t one = selected().measure_int8(1);
  REQUIRE(one > 0);
  REQUIRE(selected().measure_int8(1000) == 1000 * one);
}

TEST_CASE("peaks", "[!benchmark]") {
  std::vector<char> data(size_t{200} << 20, 1);
  BENCHMARK("read 200 MiB") { return selected().measure_read(data.data(), data.size()); };
  const uint64_t macs = selected().measure_int8(1) * 100000;
  BENCHMARK(std::to_string(macs) + " int8 multiply-adds") {
    return selected().measure_int8(100000);
  };
}

}  // namespace
}  // namespace krafla

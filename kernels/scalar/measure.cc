// What this build can do at best, for the fractions that ml_bench prints: reading memory, and
// integer multiply-adds in registers.
#include <string.h>

#include "kernels/scalar/functions.h"

namespace krafla::KRAFLA_KERNELS {

uint64_t measure_read(const void* data, size_t bytes) {
  const char* p = static_cast<const char*>(data);
  uint64_t sums[4] = {};
  size_t i = 0;
  for (; i + 32 <= bytes; i += 32) {
    for (size_t j = 0; j < 4; ++j) {
      uint64_t v;
      memcpy(&v, p + i + 8 * j, sizeof v);
      sums[j] += v;
    }
  }
  uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3];
  for (; i < bytes; ++i) sum += static_cast<uint8_t>(p[i]);
  return sum;
}

uint64_t measure_int8(uint64_t iterations) {
  constexpr int kChains = 8;
  int32_t acc[kChains] = {}, x = 3;
  for (uint64_t i = 0; i < iterations; ++i) {
    asm volatile("" : "+r"(x));  // the factor is unknown in every turn: nothing is hoisted
    for (int32_t& a : acc) a = static_cast<int32_t>(static_cast<uint32_t>(a) * 3u) + x;
  }
  int32_t sum = 0;
  for (int32_t a : acc) sum ^= a;
  asm volatile("" : : "r"(sum));
  return iterations * kChains;
}

}  // namespace krafla::KRAFLA_KERNELS

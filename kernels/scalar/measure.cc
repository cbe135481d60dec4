// What this build can do at best, for the fractions that ml_bench prints: reading memory, and
// integer multiply-adds in registers.
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

uint64_t measure_read(const void* data, size_t bytes) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  uint32_t sum = 0;
  size_t i = 0;
  for (; i + 4 <= bytes; i += 4) {
    uint32_t word;
    memcpy(&word, p + i, sizeof word);
    sum += word;
  }
  for (; i < bytes; ++i) sum += static_cast<uint32_t>(p[i]) << 8 * (i % 4);
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

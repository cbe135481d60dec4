// What this build can do at best, for the fractions that ml_bench prints: reading memory, and
// integer multiply-adds in registers.
#include "kernels/generic/loops.h"

namespace krafla::KRAFLA_KERNELS {

uint64_t measure_read(const void* data, size_t bytes) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  constexpr size_t kVectors = 8, kStep = 4 * kLanes;
  I32 sums[kVectors];
  for (I32& s : sums) s = splat_int(0);
  size_t i = 0;
  for (; i + kVectors * kStep <= bytes; i += kVectors * kStep) {
    for (size_t j = 0; j < kVectors; ++j) sums[j] = sums[j] + load_int(p + i + j * kStep);
  }
  for (size_t j = 1; j < kVectors; ++j) sums[0] = sums[0] + sums[j];
  uint32_t sum = static_cast<uint32_t>(fold_sum(sums[0]));
  for (; i < bytes; ++i) sum += static_cast<uint32_t>(p[i]) << 8 * (i % 4);
  return sum;
}

uint64_t measure_int8(uint64_t iterations) {
  constexpr size_t kChains = 10;
  DotU4::Sum sums[kChains];
  for (auto& sum : sums) sum = DotU4::start(splat_int(0));
  const DotU4::Codes w = DotU4::prepare(splat_int(0x01010101));
  const int8_t four[kBlock] = {4, 3, 2, 1};
  Quad x = load_quad(four, 0);
  for (uint64_t i = 0; i < iterations; ++i) {
#pragma GCC unroll 10
    for (size_t j = 0; j < kChains; ++j) {
      x = opaque(x);  // unknown every time: no product is shared or hoisted
      sums[j] = DotU4::add(sums[j], w, x);
    }
  }
  I32 sum = splat_int(0);
#pragma GCC unroll 10
  for (size_t j = 0; j < kChains; ++j) sum = sum + DotU4::total(sums[j], splat_int(0));
  volatile int32_t kept = fold_sum(sum);  // or nothing would be computed
  (void)kept;
  return iterations * kChains * kLanes * 4;
}

}  // namespace krafla::KRAFLA_KERNELS

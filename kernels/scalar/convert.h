// f16 and bf16 in integer arithmetic: rounding to nearest even, denormals kept, NaN payloads moved
// and made quiet exactly as F16C and AArch64 do.
#ifndef KRAFLA_KERNELS_SCALAR_CONVERT_H_
#define KRAFLA_KERNELS_SCALAR_CONVERT_H_

#include <stdint.h>
#include <string.h>

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline float widen_f16(uint16_t h) {
  const uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  const uint32_t exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
  uint32_t bits;
  if (exponent == 31) {
    bits = 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0u);
  } else if (exponent != 0) {
    bits = (exponent + 112) << 23 | mantissa << 13;
  } else {
    // A denormal is mantissa * 2^-24, which a float holds exactly.
    bits = __builtin_bit_cast(uint32_t, static_cast<float>(mantissa) * 5.9604644775390625e-8f);
  }
  return __builtin_bit_cast(float, sign | bits);
}

inline uint16_t narrow_f16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  const uint32_t sign = (bits >> 16) & 0x8000u, a = bits & 0x7fffffffu;
  uint32_t h;
  if (a > 0x7f800000u) {
    h = 0x7e00u | (a >> 13 & 0x3ffu);
  } else if (a >= 0x47800000u) {
    h = 0x7c00u;  // 65536 and more; 65520 .. 65535 round up to it below
  } else if (a >= 0x38800000u) {
    h = (a - 0x38000000u + 0xfffu + (a >> 13 & 1u)) >> 13;
  } else if (a >= 0x33000000u) {
    // A denormal result: the mantissa with its hidden bit, shifted so that one unit is 2^-24.
    const uint32_t shift = 126 - (a >> 23), m = (a & 0x7fffffu) | 0x800000u;
    const uint32_t rest = m & ((1u << shift) - 1), half = 1u << (shift - 1);
    h = m >> shift;
    h += rest > half || (rest == half && (h & 1u) != 0) ? 1u : 0u;
  } else {
    h = 0;
  }
  return static_cast<uint16_t>(sign | h);
}

inline float widen_bf16(uint16_t h) {
  return __builtin_bit_cast(float, static_cast<uint32_t>(h) << 16);
}

inline uint16_t narrow_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// An f16 at any address.
inline float f16_at(const void* p, size_t i) {
  uint16_t h;
  memcpy(&h, static_cast<const char*>(p) + 2 * i, sizeof h);
  return widen_f16(h);
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_CONVERT_H_

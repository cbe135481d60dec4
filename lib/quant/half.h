// f16 and bf16 of one value, to and from f32, by integer arithmetic: the same bits on every
// machine. Rounding is to nearest even; what exceeds f16's range becomes infinite.
#ifndef KRAFLA_LIB_QUANT_HALF_H_
#define KRAFLA_LIB_QUANT_HALF_H_

#include <bit>
#include <cstdint>

namespace krafla {

inline float Bf16ToF32(uint16_t x) { return std::bit_cast<float>(uint32_t{x} << 16); }

inline uint16_t F32ToBf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline float F16ToF32(uint16_t x) {
  const uint32_t sign = uint32_t{x & 0x8000u} << 16;
  const uint32_t magnitude = x & 0x7FFFu;
  if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (magnitude << 13));
  if (magnitude >= 0x0400u) {
    return std::bit_cast<float>(sign | ((magnitude << 13) + (uint32_t{127 - 15} << 23)));
  }
  // Denormal: magnitude * 2^-24, exact in f32.
  const float value = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

inline uint16_t F32ToF16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return sign | 0x7E00u;   // NaN
  if (magnitude >= 0x477FF000u) return sign | 0x7C00u;  // 65520 and above
  if (magnitude >= 0x38800000u) {                       // normal in f16
    magnitude += 0xFFFu + ((magnitude >> 13) & 1u);
    return sign | static_cast<uint16_t>((magnitude - (uint32_t{127 - 15} << 23)) >> 13);
  }
  if (magnitude < 0x33000000u) return sign;   // below 2^-25
  const uint32_t exponent = magnitude >> 23;  // 102 .. 112
  const uint32_t mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  const uint32_t shift = 126 - exponent;  // the result counts 2^-24
  const uint32_t half = 1u << (shift - 1);
  const uint32_t rest = mantissa & ((1u << shift) - 1);
  uint32_t result = mantissa >> shift;
  if (rest > half || (rest == half && (result & 1u) != 0)) result++;
  return sign | static_cast<uint16_t>(result);
}

}  // namespace krafla

#endif  // KRAFLA_LIB_QUANT_HALF_H_

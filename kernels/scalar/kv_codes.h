// Codes of quantised KV pages, one at a time: where each lies and what it is (kernels/kernels.h).
#ifndef KRAFLA_KERNELS_SCALAR_KV_CODES_H_
#define KRAFLA_KERNELS_SCALAR_KV_CODES_H_

#include "kernels/scalar/convert.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

inline int32_t nibble_at(const uint8_t* rows, size_t row, size_t i) {
  const int32_t byte = rows[row * 16 + i % 16];
  const int32_t nibble = i < 16 ? byte & 15 : byte >> 4;
  return (nibble ^ 8) - 8;
}

// Code i of a row, of n_rows in all.
template <size_t kBits>
inline int32_t code_at(const void* page, size_t n_rows, size_t row, size_t i) {
  const auto* rows = static_cast<const uint8_t*>(page);
  if constexpr (kBits == 8) {
    return static_cast<int8_t>(rows[row * 32 + i]);
  } else if constexpr (kBits == 6) {
    const size_t half = (n_rows + 1) / 2;
    const int32_t byte = rows[n_rows * 16 + row % half * 16 + i % 16];
    return nibble_at(rows, row, i) * 4 + (byte >> (row / half * 4 + i / 16 * 2) & 3);
  } else {
    return nibble_at(rows, row, i);
  }
}

inline void put_nibble(uint8_t* rows, size_t row, size_t i, int32_t code) {
  uint8_t& byte = rows[row * 16 + i % 16];
  const int32_t nibble = code & 15;
  byte = static_cast<uint8_t>(i < 16 ? (byte & 0xf0) | nibble : (byte & 0x0f) | nibble << 4);
}

inline void put_code(size_t bits, void* page, size_t n_rows, size_t row, size_t i, int32_t code) {
  auto* rows = static_cast<uint8_t*>(page);
  if (bits == 8) {
    rows[row * 32 + i] = static_cast<uint8_t>(code);
  } else if (bits == 4) {
    put_nibble(rows, row, i, code);
  } else {
    put_nibble(rows, row, i, code >> 2);
    const size_t half = (n_rows + 1) / 2;
    uint8_t& byte = rows[n_rows * 16 + row % half * 16 + i % 16];
    const size_t shift = row / half * 4 + i / 16 * 2;
    byte = static_cast<uint8_t>((byte & ~(3 << shift)) | (code & 3) << shift);
  }
}

}  // namespace
}  // namespace krafla::KRAFLA_KERNELS

#endif  // KRAFLA_KERNELS_SCALAR_KV_CODES_H_

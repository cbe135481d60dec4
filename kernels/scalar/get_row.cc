// One row out of a tiled matrix. The codes of a row lie 64 bytes apart, so no instruction set has a
// faster way than this loop and all builds share the file.
#include "kernels/scalar/tiles.h"

namespace krafla::KRAFLA_KERNELS {
namespace {

template <class Format>
inline void get_row_quant(const void* w, size_t k, size_t row, float* y) {
  const size_t n_blocks = (k + kBlock - 1) / kBlock;
  const uint8_t* tile =
      static_cast<const uint8_t*>(w) + row / kTileRows * n_blocks * Format::kBytes;
  for (size_t j = 0; j < k; ++j) {
    const uint8_t* block = tile + j / kBlock * Format::kBytes;
    const float code = static_cast<float>(Format::code(block, row % kTileRows, j % kBlock));
    y[j] = f16_at(block, row % kTileRows) * code;
  }
}

template <class Format>
inline void get_row_affine(const void* w, size_t k, size_t row, float* y) {
  const size_t n_groups = (k + Format::kGroup - 1) / Format::kGroup;
  const uint8_t* tile =
      static_cast<const uint8_t*>(w) + row / kTileRows * n_groups * Format::kBytes;
  const size_t r = row % kTileRows;
  for (size_t j = 0; j < k; ++j) {
    const uint8_t* group = tile + j / Format::kGroup * Format::kBytes;
    const float code = static_cast<float>(Format::code(group, r, j % Format::kGroup));
    y[j] = f16_at(group, r) * code + f16_at(group + kAffineScales / 2, r);
  }
}

// The j-th element of the row, of n bytes.
inline void copy_element(const void* w, size_t k, size_t row, size_t j, void* out, size_t n) {
  const size_t index = (row / kTileRows * k + j) * kTileRows + row % kTileRows;
  memcpy(out, static_cast<const char*>(w) + index * n, n);
}

}  // namespace

void get_row_q8(const void* w, size_t k, size_t row, float* y) { get_row_quant<Q8>(w, k, row, y); }

void get_row_q4(const void* w, size_t k, size_t row, float* y) { get_row_quant<Q4>(w, k, row, y); }

void get_row_q4a(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q4A<1>>(w, k, row, y);
}

void get_row_q4a64(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q4A<2>>(w, k, row, y);
}

void get_row_q6a(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q6A<1>>(w, k, row, y);
}

void get_row_q6a64(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q6A<2>>(w, k, row, y);
}

void get_row_q8a(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q8A<1>>(w, k, row, y);
}

void get_row_q8a64(const void* w, size_t k, size_t row, float* y) {
  get_row_affine<Q8A<2>>(w, k, row, y);
}

void get_row_f32(const void* w, size_t k, size_t row, float* y) {
  for (size_t j = 0; j < k; ++j) copy_element(w, k, row, j, y + j, sizeof *y);
}

void get_row_f16(const void* w, size_t k, size_t row, float* y) {
  for (size_t j = 0; j < k; ++j) {
    uint16_t h;
    copy_element(w, k, row, j, &h, sizeof h);
    y[j] = widen_f16(h);
  }
}

void get_row_bf16(const void* w, size_t k, size_t row, float* y) {
  for (size_t j = 0; j < k; ++j) {
    uint16_t h;
    copy_element(w, k, row, j, &h, sizeof h);
    y[j] = widen_bf16(h);
  }
}

}  // namespace krafla::KRAFLA_KERNELS

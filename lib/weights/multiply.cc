// The one place that picks a kernel by format: a row a format. A format of formats.def that has no
// row does not compile.
#include "kernels/kernels.h"
#include "lib/weights/weights.h"

namespace krafla {
namespace {

using MultiplyFunction = void (*)(const Matrix& m, size_t tile_begin, size_t tile_end,
                                  const Activations& in, size_t n_tokens, float* y, size_t ldy);
using GetRowFunction = void (*)(const void* w, size_t k, size_t row, float* y);

template <auto kMatmul>
void Plain(const Matrix& m, size_t tile_begin, size_t tile_end, const Activations& in,
           size_t n_tokens, float* y, size_t ldy) {
  kMatmul(m.data(), tile_begin, tile_end, m.cols, in.x, in.ldx, n_tokens, y, ldy);
}

template <auto kMatmul>
void Quantised(const Matrix& m, size_t tile_begin, size_t tile_end, const Activations& in,
               size_t n_tokens, float* y, size_t ldy) {
  kMatmul(m.data(), tile_begin, tile_end, (m.cols + kBlock - 1) / kBlock, in.blocks, n_tokens, y,
          ldy);
}

struct Row {
  Format format;
  bool quantised;
  MultiplyFunction multiply;
  GetRowFunction get_row;
};
constexpr Row kRows[] = {
    {Format::kF32, false, Plain<kernels::matmul_f32>, kernels::get_row_f32},
    {Format::kF16, false, Plain<kernels::matmul_f16>, kernels::get_row_f16},
    {Format::kBF16, false, Plain<kernels::matmul_bf16>, kernels::get_row_bf16},
    {Format::kQ8, true, Quantised<kernels::matmul_q8>, kernels::get_row_q8},
    {Format::kQ4, true, Quantised<kernels::matmul_q4>, kernels::get_row_q4},
    {Format::kQ4A, true, Quantised<kernels::matmul_q4a>, kernels::get_row_q4a},
    {Format::kQ4A64, true, Quantised<kernels::matmul_q4a64>, kernels::get_row_q4a64},
    {Format::kQ6A, true, Quantised<kernels::matmul_q6a>, kernels::get_row_q6a},
    {Format::kQ6A64, true, Quantised<kernels::matmul_q6a64>, kernels::get_row_q6a64},
    {Format::kQ8A, true, Quantised<kernels::matmul_q8a>, kernels::get_row_q8a},
    {Format::kQ8A64, true, Quantised<kernels::matmul_q8a64>, kernels::get_row_q8a64},
};

constexpr const Row* Find(Format format) {
  for (const Row& row : kRows) {
    if (row.format == format) return &row;
  }
  return nullptr;
}
#define X(name, kName, id, bytes, block, is_quantised) \
  static_assert(Find(Format::kName) != nullptr && Find(Format::kName)->quantised == is_quantised);
#include "lib/quant/formats.def"
#undef X

}  // namespace

void Multiply(const Matrix& m, size_t tile_begin, size_t tile_end, const Activations& in,
              size_t n_tokens, float* y, size_t ldy) {
  Find(m.format)->multiply(m, tile_begin, tile_end, in, n_tokens, y, ldy);
}

void GetRow(const Matrix& m, size_t row, float* y) {
  Find(m.format)->get_row(m.data(), m.cols, row, y);
}

}  // namespace krafla

// What the steps share that multiply rows of a pass with tiles of a matrix.
#ifndef KRAFLA_LIB_MODEL_TILES_H_
#define KRAFLA_LIB_MODEL_TILES_H_

#include <algorithm>
#include <cstddef>

#include "kernels/kernels.h"
#include "lib/model/blocks.h"
#include "lib/model/network.h"
#include "lib/weights/weights.h"

namespace krafla::blocks {

// Activation bytes that one multiplication walks for every tile: they should stay in the
// second-level cache while the tiles of a piece pass by.
inline constexpr size_t kActivationBytes = 512 * 1024;

inline Activations From(const Pass& pass, const Matrix& matrix, bool wide, size_t row) {
  Activations in;
  in.x = wide ? pass.wide + row * pass.ld_wide : pass.act + row * pass.ld_act;
  in.ldx = wide ? pass.ld_wide : pass.ld_act;
  in.blocks = pass.blocks + row * BlocksOf(matrix.cols);
  return in;
}

inline size_t RowsAtOnce(const Matrix& matrix, size_t n_rows) {
  const size_t row_bytes = IsQuantized(matrix.format) ? BlocksOf(matrix.cols) * sizeof(ActBlock)
                                                      : matrix.cols * sizeof(float);
  return std::min(n_rows, std::max<size_t>(kActivationBytes / row_bytes, 16));
}

// The rows of some tiles as a matrix of their own, so that their outputs begin at column 0.
inline Matrix Slice(const Matrix& matrix, size_t tile, size_t n_tiles) {
  const auto* tiles = static_cast<const std::byte*>(matrix.data());
  return {matrix.format, n_tiles * kTileRows, matrix.cols,
          tiles + tile * TileBytes(matrix.format, matrix.cols)};
}

inline StepWork TileWork(const Matrix& matrix, size_t n_matrices, size_t n_rows) {
  StepWork work;
  work.items = matrix.n_tiles();
  work.bytes_per_item = n_matrices * TileBytes(matrix.format, matrix.cols);
  work.macs_per_item = n_matrices * kTileRows * matrix.cols * n_rows;
  return work;
}

// Adds the bias of outputs first ... first + width to some rows of them; rows of padding have none.
inline void AddBias(const Vector& bias, size_t first, size_t width, float* y, size_t n_rows,
                    size_t ldy) {
  if (bias.size <= first) return;
  const size_t n = std::min(width, bias.size - first);
  for (size_t i = 0; i < n_rows; ++i) kernels::add(bias.data + first, n, y + i * ldy);
}

// Calls f(first row, rows, first tile, tiles) so that rows * tiles * 16 floats fit a thread's
// scratch.
template <typename F>
void InScratchPieces(const Matrix& matrix, size_t n_rows, size_t begin, size_t end, F f) {
  const size_t rows = RowsAtOnce(matrix, n_rows);
  const size_t step = std::max<size_t>(kTileFloats / (rows * kTileRows), 1);
  for (size_t tile = begin; tile < end; tile += step) {
    const size_t n_tiles = std::min(step, end - tile);
    for (size_t row = 0; row < n_rows; row += rows) {
      f(row, std::min(rows, n_rows - row), tile, n_tiles);
    }
  }
}

}  // namespace krafla::blocks

#endif  // KRAFLA_LIB_MODEL_TILES_H_

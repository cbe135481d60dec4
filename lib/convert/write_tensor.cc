// Q8_0 and Q4_0 blocks go into q8 and q4 tiles as they are; all else passes through f32.
#include "lib/convert/write_tensor.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace krafla {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;  // of f32 rows at a time, one tile at least

bool KeepsBlocks(const PlannedTensor& planned) {
  const SourceType type = planned.source->type;
  return (planned.format == Format::kQ8 && type == SourceType::kQ8_0) ||
         (planned.format == Format::kQ4 && type == SourceType::kQ4_0);
}

}  // namespace

uint64_t PlannedBytes(const PlannedTensor& planned) {
  const auto cols = static_cast<uint64_t>(planned.spec.cols);
  if (planned.is_vector()) return cols * sizeof(float);
  return MatrixBytes(planned.format, static_cast<uint64_t>(planned.spec.rows), cols);
}

uint64_t PermutedRow(uint64_t row, uint64_t head_rows) {
  const uint64_t in_head = row % head_rows;
  const uint64_t half = head_rows / 2;
  return row - in_head + (in_head < half ? 2 * in_head : 2 * (in_head - half) + 1);
}

Status TensorWriter::Write(size_t index, const PlannedTensor& planned) {
  return planned.is_vector() ? WriteVector(index, planned) : WriteMatrix(index, planned);
}

Status TensorWriter::Append(size_t index, const void* data, size_t n) {
  KRAFLA_RETURN_IF_ERROR(writer_->Write(index, data, n));
  done_ += n;
  if (progress_ != nullptr && progress_(user_, done_, total_) != 0) {
    return CallbackError("convert: stopped by the progress function at {} of {} bytes", done_,
                         total_);
  }
  return OkStatus();
}

Status TensorWriter::WriteVector(size_t index, const PlannedTensor& planned) {
  const auto cols = static_cast<size_t>(planned.spec.cols);
  raw_.resize(planned.source->row_bytes());
  rows_.resize(cols);
  KRAFLA_RETURN_IF_ERROR(ReadRawRows(*planned.source, 0, 1, raw_.data()));
  DecodeRows(*planned.source, raw_.data(), 1, rows_.data());
  for (size_t i = 0; i < cols; i++) {
    if (!std::isfinite(rows_[i])) return FileError("element {}: {}", i, rows_[i]);
    if (planned.spec.hf_plus_one) rows_[i] += 1;
  }
  if (const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads)) {
    const std::vector<float> source = rows_;
    for (size_t i = 0; i < cols; i++) rows_[i] = source[PermutedRow(i, cols / heads)];
  }
  return Append(index, rows_.data(), cols * sizeof(float));
}

// Rows [row, row + n) of our matrix into raw_.
Status TensorWriter::ReadRows(const PlannedTensor& planned, uint64_t row, uint64_t n) {
  const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads);
  const uint64_t row_bytes = planned.source->row_bytes();
  raw_.resize(n * row_bytes);
  if (heads == 0) {
    const auto first = static_cast<uint64_t>(planned.spec.first_row);
    return ReadRawRows(*planned.source, first + row, n, raw_.data());
  }
  const uint64_t head_rows = static_cast<uint64_t>(planned.spec.rows) / heads;
  for (uint64_t i = 0; i < n; i++) {
    KRAFLA_RETURN_IF_ERROR(ReadRawRows(*planned.source, PermutedRow(row + i, head_rows), 1,
                                       raw_.data() + i * row_bytes));
  }
  return OkStatus();
}

// The n rows of raw_, the first of which is `row`, into tiles_.
Status TensorWriter::PackTiles(const PlannedTensor& planned, uint64_t row, uint64_t n) {
  const auto cols = static_cast<size_t>(planned.spec.cols);
  const uint64_t tile_bytes = TileBytes(planned.format, cols);
  const uint64_t row_bytes = planned.source->row_bytes();
  const bool keep = KeepsBlocks(planned);
  tiles_.resize((n + kTileRows - 1) / kTileRows * tile_bytes);
  if (!keep) {
    rows_.resize(n * cols);
    DecodeRows(*planned.source, raw_.data(), n, rows_.data());
  }
  for (uint64_t r = 0; r < n; r += kTileRows) {
    const auto n_rows = static_cast<size_t>(std::min<uint64_t>(kTileRows, n - r));
    char* tile = tiles_.data() + r / kTileRows * tile_bytes;
    Status status;
    if (keep) {
      const void* blocks[kTileRows];
      for (size_t i = 0; i < n_rows; i++) blocks[i] = raw_.data() + (r + i) * row_bytes;
      status = planned.format == Format::kQ8
                   ? PackTileFromQ8_0(blocks, n_rows, cols / kBlock, tile)
                   : PackTileFromQ4_0(blocks, n_rows, cols / kBlock, tile);
    } else {
      status = PackTile(planned.format, rows_.data() + r * cols, cols, n_rows, cols, tile);
    }
    if (!status.ok()) {
      return Status(status.code(), FormatText("rows from {}: {}", row + r, Message(status)));
    }
  }
  return OkStatus();
}

Status TensorWriter::WriteMatrix(size_t index, const PlannedTensor& planned) {
  const auto rows = static_cast<uint64_t>(planned.spec.rows);
  const auto cols = static_cast<uint64_t>(planned.spec.cols);
  const uint64_t tiles_at_once =
      std::max<uint64_t>(1, kPieceBytes / (kTileRows * cols * sizeof(float)));
  const uint64_t step = tiles_at_once * kTileRows;
  for (uint64_t row = 0; row < rows; row += step) {
    const uint64_t n = std::min(step, rows - row);
    KRAFLA_RETURN_IF_ERROR(ReadRows(planned, row, n));
    KRAFLA_RETURN_IF_ERROR(PackTiles(planned, row, n));
    KRAFLA_RETURN_IF_ERROR(Append(index, tiles_.data(), tiles_.size()));
  }
  return OkStatus();
}

}  // namespace krafla

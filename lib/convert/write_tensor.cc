// One thread reads the next window of rows while the pool packs this one; the caller writes it,
// takes the checksum, which needs the bytes in order, and tells the progress.
#include "lib/convert/write_tensor.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/kernels.h"
#include "lib/base/math.h"
#include "lib/convert/make_tiles.h"

namespace krafla {
namespace {

constexpr uint64_t kPieceBytes = 1 << 19;  // of its rows or tiles, one tile at least
constexpr uint64_t kPieces = 16;           // of a window

}  // namespace

TensorWriter::TensorWriter(MlbWriter* writer, std::span<const PlannedTensor> plan, ThreadPool* pool,
                           ConvertProgress progress, void* user)
    : writer_(writer), plan_(plan), pool_(pool), progress_(progress), user_(user) {
  for (size_t i = 0; i < plan.size(); i++) {
    total_ += PlannedBytes(plan[i]);
    done_ += writer->written(i);
  }
  rows_.resize(pool->size());
}

Status TensorWriter::Write(size_t index) {
  if (writer_->written(index) == PlannedBytes(plan_[index])) return OkStatus();
  return plan_[index].is_vector() ? WriteVector(index) : WriteMatrix(index);
}

Status TensorWriter::WriteTiles(size_t index, std::span<const std::byte> tiles) {
  const std::span<const std::byte> rest = tiles.subspan(writer_->written(index));
  KRAFLA_RETURN_IF_ERROR(writer_->Write(index, rest.data(), rest.size()));
  done_ += rest.size();
  return Report();
}

Status TensorWriter::Report() {
  if (progress_ == nullptr || progress_(user_, done_, total_) == 0) return OkStatus();
  return CallbackError("convert: stopped by the progress function at {} of {} bytes", done_,
                       total_);
}

Status TensorWriter::WriteVector(size_t index) {
  const PlannedTensor& planned = plan_[index];
  KRAFLA_ASSIGN_OR_RETURN(std::vector<float> values, ReadPlannedVector(planned));
  for (size_t i = 0; i < values.size(); i++) {
    const float element = values[i];
    if (planned.spec.hf_derived == Derived::kOnePlus) values[i] += 1;
    if (planned.spec.hf_derived == Derived::kMinusExp) {
      values[i] = -static_cast<float>(Exp(element));
    }
    if (!std::isfinite(values[i])) return FileError("element {}: {}", i, element);
  }
  const uint64_t bytes = values.size() * sizeof(float);
  KRAFLA_RETURN_IF_ERROR(writer_->Write(index, values.data(), bytes));
  done_ += bytes;
  return Report();
}

uint64_t TensorWriter::TileBytesOf(size_t index) const {
  return TileBytes(plan_[index].format, static_cast<uint64_t>(plan_[index].spec.cols));
}

uint64_t TensorWriter::RowsAPiece(size_t index) const {
  const uint64_t rows = kTileRows * plan_[index].row_bytes();
  return std::max<uint64_t>(1, kPieceBytes / std::max(rows, TileBytesOf(index))) * kTileRows;
}

// Rows are counted through all experts, whose matrices are padded to whole tiles.
uint64_t TensorWriter::PaddedRows(size_t index) const {
  const auto rows = static_cast<uint64_t>(plan_[index].spec.rows);
  return (rows + kTileRows - 1) / kTileRows * kTileRows;
}

uint64_t TensorWriter::EndRow(size_t index) const {
  return plan_[index].experts() * PaddedRows(index);
}

uint64_t TensorWriter::FirstRow(size_t index) const {
  return writer_->written(index) / TileBytesOf(index) * kTileRows;
}

// A window of rows of one matrix.
void TensorWriter::SetWindow(size_t index, uint64_t row, Window* window) const {
  const uint64_t rows = static_cast<uint64_t>(plan_[index].spec.rows);
  window->index = index;
  window->expert = row / PaddedRows(index);
  window->row = row % PaddedRows(index);
  window->n_rows = std::min(kPieces * RowsAPiece(index), rows - window->row);
  window->raw.resize(window->n_rows * plan_[index].row_bytes());
}

uint64_t TensorWriter::EndOf(const Window& window) const {
  const uint64_t end = window.row + window.n_rows;
  return window.expert * PaddedRows(window.index) + (end + kTileRows - 1) / kTileRows * kTileRows;
}

Status TensorWriter::Read(Window* window) const {
  return ReadPlannedRows(plan_[window->index], window->expert, window->row, window->n_rows,
                         window->raw.data());
}

// Rows from `row` on into window_, which may have been read ahead.
Status TensorWriter::ReadWindow(size_t index, uint64_t row) {
  KRAFLA_RETURN_IF_ERROR(reading_.Wait());
  std::swap(window_, ahead_);
  ahead_.n_rows = 0;
  if (window_.n_rows != 0 && window_.index == index &&
      window_.expert * PaddedRows(index) + window_.row == row) {
    return OkStatus();
  }
  SetWindow(index, row, &window_);
  return Read(&window_);
}

// Starts to read what comes after window_.
Status TensorWriter::ReadAhead() {
  size_t index = window_.index;
  uint64_t row = EndOf(window_);
  while (row >= EndRow(index)) {  // a vector has no rows: it is read when it is written
    if (++index == plan_.size()) return OkStatus();
    row = plan_[index].is_vector() ? 0 : FirstRow(index);
  }
  SetWindow(index, row, &ahead_);
  return reading_.Start([this] { return Read(&ahead_); });
}

void TensorWriter::RunPieces(void* context, size_t begin, size_t end, size_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  for (size_t i = begin; i < end; i++) {
    Piece& piece = job.pieces[i];
    try {
      piece.status = MakeTiles(*job.planned, piece.row, piece.n_rows, piece.raw, &job.rows[thread],
                               piece.tiles);
    } catch (const std::bad_alloc&) {
      piece.no_memory = true;
    }
  }
}

// window_ into tiles_.
Status TensorWriter::PackWindow() {
  const PlannedTensor& planned = plan_[window_.index];
  const uint64_t tile = TileBytesOf(window_.index);
  const uint64_t step = RowsAPiece(window_.index);
  tiles_.resize((window_.n_rows + kTileRows - 1) / kTileRows * tile);
  pieces_.clear();
  for (uint64_t at = 0; at < window_.n_rows; at += step) {
    pieces_.push_back({window_.row + at, std::min(step, window_.n_rows - at),
                       window_.raw.data() + at * planned.row_bytes(),
                       tiles_.data() + at / kTileRows * tile, OkStatus(), false});
  }
  Job job{&planned, pieces_.data(), rows_.data()};
  pool_->Run(pieces_.size(), 1, RunPieces, &job);
  for (const Piece& piece : pieces_) {
    if (piece.no_memory) return MemoryError("no memory for {} rows", piece.n_rows);
    KRAFLA_RETURN_IF_ERROR(piece.status);
  }
  return OkStatus();
}

Status TensorWriter::WriteMatrix(size_t index) {
  for (uint64_t row = FirstRow(index); row < EndRow(index); row = EndOf(window_)) {
    KRAFLA_RETURN_IF_ERROR(ReadWindow(index, row));
    KRAFLA_RETURN_IF_ERROR(ReadAhead());
    KRAFLA_RETURN_IF_ERROR(PackWindow());
    KRAFLA_RETURN_IF_ERROR(writer_->Write(index, tiles_.data(), tiles_.size()));
    done_ += tiles_.size();
    KRAFLA_RETURN_IF_ERROR(Report());
  }
  return OkStatus();
}

}  // namespace krafla

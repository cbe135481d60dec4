// The threads read, pack and put their pieces; the checksums, which need the bytes in order, and
// the progress are the caller's. The disk is told of the rows after these while these are at work.
#include "lib/convert/write_tensor.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "kernels/kernels.h"
#include "lib/convert/make_tiles.h"

namespace krafla {
namespace {

constexpr uint64_t kPieceBytes = 1 << 20;    // of a piece's tiles, one tile at least
constexpr uint64_t kWindowBytes = 32 << 20;  // of all pieces at a time, one a thread at least
constexpr uint64_t kPiecesAThread = 8;

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

TensorWriter::TensorWriter(MlbWriter* writer, std::span<const PlannedTensor> plan, ThreadPool* pool,
                           ConvertProgress progress, void* user)
    : writer_(writer), plan_(plan), pool_(pool), progress_(progress), user_(user) {
  for (size_t i = 0; i < plan.size(); i++) {
    total_ += PlannedBytes(plan[i]);
    done_ += writer->written(i);
  }
  scratch_.resize(pool->size());
}

Status TensorWriter::Write(size_t index) {
  if (writer_->written(index) == PlannedBytes(plan_[index])) return OkStatus();
  return plan_[index].is_vector() ? WriteVector(index) : WriteMatrix(index);
}

Status TensorWriter::Report() {
  if (progress_ == nullptr || progress_(user_, done_, total_) == 0) return OkStatus();
  return CallbackError("convert: stopped by the progress function at {} of {} bytes", done_,
                       total_);
}

Status TensorWriter::WriteVector(size_t index) {
  const PlannedTensor& planned = plan_[index];
  const auto cols = static_cast<size_t>(planned.spec.cols);
  std::vector<char> raw(planned.source->row_bytes());
  std::vector<float> values(cols);
  KRAFLA_RETURN_IF_ERROR(ReadRawRows(*planned.source, 0, 1, raw.data()));
  DecodeRows(*planned.source, raw.data(), 1, values.data());
  for (size_t i = 0; i < cols; i++) {
    if (!std::isfinite(values[i])) return FileError("element {}: {}", i, values[i]);
    if (planned.spec.hf_plus_one) values[i] += 1;
  }
  if (const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads)) {
    const std::vector<float> source = values;
    for (size_t i = 0; i < cols; i++) values[i] = source[PermutedRow(i, cols / heads)];
  }
  KRAFLA_RETURN_IF_ERROR(writer_->Write(index, values.data(), cols * sizeof(float)));
  done_ += cols * sizeof(float);
  return Report();
}

uint64_t TensorWriter::RowsAtOnce(const PlannedTensor& planned) const {
  const uint64_t tile = TileBytes(planned.format, static_cast<uint64_t>(planned.spec.cols));
  return std::max<uint64_t>(1, kPieceBytes / tile) * kTileRows;
}

void TensorWriter::Prefetch(size_t index, uint64_t row, uint64_t n) const {
  const PlannedTensor& planned = plan_[index];
  if (planned.is_vector()) return;
  const auto rows = static_cast<uint64_t>(planned.spec.rows);
  if (row >= rows) return;
  const uint64_t row_bytes = planned.source->row_bytes();
  const auto first = static_cast<uint64_t>(planned.spec.first_row) + row;
  planned.source->file->Prefetch(planned.source->offset + first * row_bytes,
                                 std::min(n, rows - row) * row_bytes);
}

Status TensorWriter::MakePiece(size_t index, Piece* piece, Scratch* scratch) const {
  const PlannedTensor& planned = plan_[index];
  scratch->raw.resize(piece->n_rows * planned.source->row_bytes());
  const uint64_t tile = TileBytes(planned.format, static_cast<uint64_t>(planned.spec.cols));
  piece->tiles.resize((piece->n_rows + kTileRows - 1) / kTileRows * tile);
  KRAFLA_RETURN_IF_ERROR(ReadPlannedRows(planned, piece->row, piece->n_rows, scratch->raw.data()));
  KRAFLA_RETURN_IF_ERROR(MakeTiles(planned, piece->row, piece->n_rows, scratch->raw.data(),
                                   &scratch->rows, piece->tiles.data()));
  return writer_->Put(index, piece->row / kTileRows * tile, piece->tiles.data(),
                      piece->tiles.size());
}

void TensorWriter::RunPieces(void* context, size_t begin, size_t end, size_t thread) {
  const Job& job = *static_cast<const Job*>(context);
  for (size_t i = begin; i < end; i++) {
    Piece& piece = job.pieces[i];
    try {
      piece.status = job.self->MakePiece(job.index, &piece, &job.scratch[thread]);
    } catch (const std::bad_alloc&) {
      piece.no_memory = true;
    }
  }
}

Status TensorWriter::WriteMatrix(size_t index) {
  const PlannedTensor& planned = plan_[index];
  const auto rows = static_cast<uint64_t>(planned.spec.rows);
  const uint64_t tile = TileBytes(planned.format, static_cast<uint64_t>(planned.spec.cols));
  const uint64_t step = RowsAtOnce(planned);
  const uint64_t fitting = kWindowBytes / (step / kTileRows * tile);
  const uint64_t window =
      std::clamp<uint64_t>(fitting, pool_->size(), kPiecesAThread * pool_->size());
  uint64_t row = writer_->written(index) / tile * kTileRows;
  while (row < rows) {
    pieces_.resize(window);
    size_t n = 0;
    for (; n < window && row < rows; n++, row += step) {
      pieces_[n].row = row;
      pieces_[n].n_rows = std::min(step, rows - row);
      pieces_[n].status = OkStatus();
      pieces_[n].no_memory = false;
    }
    Prefetch(index, row, window * step);
    if (row >= rows && index + 1 < plan_.size()) Prefetch(index + 1, 0, window * step);
    Job job{this, index, pieces_.data(), scratch_.data()};
    pool_->Run(n, 1, RunPieces, &job);
    for (size_t i = 0; i < n; i++) {
      const Piece& piece = pieces_[i];
      if (piece.no_memory) return MemoryError("no memory for {} rows", piece.n_rows);
      KRAFLA_RETURN_IF_ERROR(piece.status);
      KRAFLA_RETURN_IF_ERROR(writer_->Account(index, piece.tiles.data(), piece.tiles.size()));
      done_ += piece.tiles.size();
    }
    KRAFLA_RETURN_IF_ERROR(Report());
  }
  return OkStatus();
}

}  // namespace krafla

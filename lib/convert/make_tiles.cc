// Q8_0 and Q4_0 blocks go into q8 and q4 tiles as they are, 16-bit floats into tiles of their own
// kind too; all else passes through f32.
#include "lib/convert/make_tiles.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"
#include "lib/convert/write_tensor.h"

namespace krafla {
namespace {

bool KeepsBlocks(const PlannedTensor& planned) {
  const SourceType type = planned.source->type;
  return (planned.format == Format::kQ8 && type == SourceType::kQ8_0) ||
         (planned.format == Format::kQ4 && type == SourceType::kQ4_0);
}

// The bits that are all ones in an infinity or a NaN; 0: not copied as it is.
uint16_t CopiedExponent(const PlannedTensor& planned) {
  const SourceType type = planned.source->type;
  if (planned.format == Format::kBF16 && type == SourceType::kBF16) return 0x7F80;
  if (planned.format == Format::kF16 && type == SourceType::kF16) return 0x7C00;
  return 0;
}

// [16 rows][k] to [k][16 rows], absent rows zero. False: a value is not finite.
bool CopyTile16(const char* raw, uint64_t row_bytes, size_t n_rows, size_t cols, uint16_t exponent,
                char* tile) {
  constexpr size_t kColumns = 64;  // of each row at a time: what the caches' ways can hold
  bool finite = true;
  for (size_t k = 0; k < cols; k += kColumns) {
    const size_t n = std::min(kColumns, cols - k);
    uint16_t in[kTileRows][kColumns] = {};
    for (size_t r = 0; r < n_rows; r++) {
      std::memcpy(in[r], raw + r * row_bytes + k * sizeof in[0][0], n * sizeof in[0][0]);
    }
    uint16_t out[kColumns][kTileRows];
    for (size_t i = 0; i < kColumns; i++) {
      for (size_t r = 0; r < kTileRows; r++) {
        finite &= (in[r][i] & exponent) != exponent;
        out[i][r] = in[r][i];
      }
    }
    std::memcpy(tile + k * sizeof out[0], out, n * sizeof out[0]);
  }
  return finite;
}

}  // namespace

Status ReadPlannedRows(const PlannedTensor& planned, uint64_t row, uint64_t n, char* raw) {
  const auto heads = static_cast<uint64_t>(planned.spec.gguf_permuted_heads);
  const auto first = static_cast<uint64_t>(planned.spec.first_row);
  if (heads == 0) return ReadRawRows(*planned.source, first + row, n, raw);
  const uint64_t head_rows = static_cast<uint64_t>(planned.spec.rows) / heads;
  const uint64_t row_bytes = planned.source->row_bytes();
  for (uint64_t i = 0; i < n; i++) {
    KRAFLA_RETURN_IF_ERROR(
        ReadRawRows(*planned.source, PermutedRow(row + i, head_rows), 1, raw + i * row_bytes));
  }
  return OkStatus();
}

Status MakeTiles(const PlannedTensor& planned, uint64_t row, uint64_t n, const char* raw,
                 std::vector<float>* rows, char* tiles) {
  const auto cols = static_cast<size_t>(planned.spec.cols);
  const uint64_t tile_bytes = TileBytes(planned.format, cols);
  const uint64_t row_bytes = planned.source->row_bytes();
  const bool keep = KeepsBlocks(planned);
  const uint16_t exponent = CopiedExponent(planned);
  for (uint64_t r = 0; r < n; r += kTileRows, tiles += tile_bytes) {
    const auto n_rows = static_cast<size_t>(std::min<uint64_t>(kTileRows, n - r));
    const char* first = raw + r * row_bytes;
    Status status;
    if (keep) {
      const void* blocks[kTileRows];
      for (size_t i = 0; i < n_rows; i++) blocks[i] = first + i * row_bytes;
      status = planned.format == Format::kQ8
                   ? PackTileFromQ8_0(blocks, n_rows, cols / kBlock, tiles)
                   : PackTileFromQ4_0(blocks, n_rows, cols / kBlock, tiles);
    } else if (exponent == 0 || !CopyTile16(first, row_bytes, n_rows, cols, exponent, tiles)) {
      // A value that is not finite is named by the packer.
      rows->resize(kTileRows * cols);
      DecodeRows(*planned.source, first, n_rows, rows->data());
      status = PackTile(planned.format, rows->data(), cols, n_rows, cols, tiles);
    }
    if (!status.ok()) {
      return Status(status.code(), FormatText("rows from {}: {}", row + r, Message(status)));
    }
  }
  return OkStatus();
}

}  // namespace krafla

// The table of formats.def behind functions, and the one switch that picks a format's packer.
#include "lib/quant/format.h"

#include <cmath>
#include <string>

#include "kernels/kernels.h"
#include "lib/quant/pack.h"

namespace krafla {
namespace {

struct Row {
  std::string_view name;
  Format format;
  uint64_t bytes;  // of 16 rows x block
  uint64_t block;
  bool quantized;
};
constexpr Row kRows[] = {
#define X(name, kName, id, bytes, block, quantized) {name, Format::kName, bytes, block, quantized},
#include "lib/quant/formats.def"
#undef X
};

const Row& RowOf(Format format) {
  for (const Row& row : kRows) {
    if (row.format == format) return row;
  }
  return kRows[0];  // not reached: a Format comes from this table
}

Status CheckFinite(const float* rows, size_t ld, size_t n_rows, size_t cols) {
  for (size_t r = 0; r < n_rows; r++) {
    const float* row = rows + r * ld;
    // One sum of (x - x) is 0 unless something is infinite or NaN; only then look for the place.
    float sum = 0;
    for (size_t k = 0; k < cols; k++) sum += row[k] - row[k];
    if (sum == 0) continue;
    for (size_t k = 0; k < cols; k++) {
      if (!std::isfinite(row[k])) return FileError("row {}, column {}: {}", r, k, row[k]);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Format> ParseFormat(std::string_view name) {
  std::string names;
  for (const Row& row : kRows) {
    if (row.name == name) return row.format;
    names += ' ';
    names += row.name;
  }
  return ArgumentError("weight format {}: not known, want one of{}", name, names);
}

StatusOr<Format> FormatFromId(uint32_t id) {
  for (const Row& row : kRows) {
    if (static_cast<uint32_t>(row.format) == id) return row.format;
  }
  return UnsupportedError("weight format id {} is not known", id);
}

std::string_view FormatName(Format format) { return RowOf(format).name; }

uint64_t TileBytes(Format format, uint64_t cols) {
  const Row& row = RowOf(format);
  return (cols + row.block - 1) / row.block * row.bytes;
}

uint64_t MatrixBytes(Format format, uint64_t rows, uint64_t cols) {
  return (rows + kTileRows - 1) / kTileRows * TileBytes(format, cols);
}

bool IsQuantized(Format format) { return RowOf(format).quantized; }

Status PackTile(Format format, const float* rows, size_t ld, size_t n_rows, size_t cols, void* tile,
                AffineSolver solver) {
  KRAFLA_RETURN_IF_ERROR(CheckFinite(rows, ld, n_rows, cols));
  switch (format) {
    case Format::kF32:
      return PackF32(rows, ld, n_rows, cols, tile);
    case Format::kF16:
      return PackF16(rows, ld, n_rows, cols, tile);
    case Format::kBF16:
      return PackBF16(rows, ld, n_rows, cols, tile);
    case Format::kQ8:
      return PackQ8(rows, ld, n_rows, cols, tile);
    case Format::kQ4:
      return PackQ4(rows, ld, n_rows, cols, tile);
    case Format::kQ4A:
    case Format::kQ4A64:
    case Format::kQ6A:
    case Format::kQ6A64:
    case Format::kQ8A:
    case Format::kQ8A64:
      return PackAffine(format, solver, rows, ld, n_rows, cols, tile);
  }
  return InternalError("weight format {} has no packer", static_cast<uint32_t>(format));
}

}  // namespace krafla

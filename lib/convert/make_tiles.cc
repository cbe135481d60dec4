// Q8_0 and Q4_0 blocks go into q8 and q4 tiles as they are, GGUF's affine blocks into q4a and q6a,
// 16-bit floats into tiles of their own kind; all else passes through f32.
#include "lib/convert/make_tiles.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"

namespace krafla {
namespace {

bool KeepsBlocks(const PlannedTensor& planned) {
  const SourceType type = planned.type();
  return (planned.format == Format::kQ8 && type == SourceType::kQ8_0) ||
         (planned.format == Format::kQ4 && type == SourceType::kQ4_0);
}

// Blocks of 32 with scale and offset whose codes the format has room for.
bool KeepsAffine(const PlannedTensor& planned) {
  const int bits = AffineBits(planned.type());
  return bits != 0 && planned.spec.cols % kBlock == 0 &&
         ((planned.format == Format::kQ4A && bits == 4) || planned.format == Format::kQ6A);
}

Status CopyAffine(const PlannedTensor& planned, const char* raw, size_t n_rows, char* tile) {
  const auto cols = static_cast<size_t>(planned.spec.cols);
  std::vector<AffineBlock> blocks(n_rows * cols / kBlock);
  DecodeAffine(planned.type(), raw, n_rows * cols, blocks.data());
  const AffineBlock* rows[kTileRows];
  for (size_t r = 0; r < n_rows; ++r) rows[r] = blocks.data() + r * (cols / kBlock);
  return PackTileFromAffine(planned.format, rows, n_rows, cols / kBlock, tile);
}

// The bits that are all ones in an infinity or a NaN; 0: not copied as it is.
uint16_t CopiedExponent(const PlannedTensor& planned) {
  const SourceType type = planned.type();
  if (planned.format == Format::kBF16 && type == SourceType::kBF16) return 0x7F80;
  if (planned.format == Format::kF16 && type == SourceType::kF16) return 0x7C00;
  return 0;
}

// Eight 16-bit lanes; the compilers' own vectors, so that every processor has them.
using Lanes = uint16_t __attribute__((vector_size(16)));

Lanes LoadLanes(const void* p) {
  Lanes v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

struct Pair {
  Lanes low, high;
};
// a0 b0 a1 b1 ...: three rounds of it transpose 8 x 8.
Pair Zip(Lanes a, Lanes b) {
  return {__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11),
          __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)};
}
// Columns k to k + 7 of 8 rows into 8 half lines of the tile, `stride` bytes apart.
void Transpose8(const Lanes rows[8], char* tile, size_t stride) {
  Lanes a[8];
  Lanes b[8];
  for (size_t i = 0; i < 4; i++) {  // rows i and i + 4
    const Pair p = Zip(rows[i], rows[i + 4]);
    a[2 * i] = p.low;
    a[2 * i + 1] = p.high;
  }
  for (size_t i = 0; i < 2; i++) {  // then i and i + 2
    for (size_t h = 0; h < 2; h++) {
      const Pair p = Zip(a[2 * i + h], a[2 * (i + 2) + h]);
      b[4 * i + 2 * h] = p.low;
      b[4 * i + 2 * h + 1] = p.high;
    }
  }
  for (size_t k = 0; k < 4; k++) {
    const Pair p = Zip(b[k], b[4 + k]);
    std::memcpy(tile + 2 * k * stride, &p.low, sizeof p.low);
    std::memcpy(tile + (2 * k + 1) * stride, &p.high, sizeof p.high);
  }
}

// [16 rows][k] to [k][16 rows], absent rows zero. False: a value is not finite.
bool CopyTile16(const char* raw, uint64_t row_bytes, size_t n_rows, size_t cols, uint16_t exponent,
                char* tile) {
  constexpr size_t kLine = kTileRows * sizeof(uint16_t);
  const Lanes ones = Lanes{} + exponent;
  Lanes bad = {};
  size_t k = 0;
  for (; n_rows == kTileRows && k + 8 <= cols; k += 8) {
    for (size_t half = 0; half < 2; half++) {
      Lanes rows[8];
      for (size_t r = 0; r < 8; r++) {
        rows[r] = LoadLanes(raw + (8 * half + r) * row_bytes + k * sizeof(uint16_t));
        bad |= reinterpret_cast<Lanes>((rows[r] & ones) == ones);
      }
      Transpose8(rows, tile + k * kLine + half * kLine / 2, kLine);
    }
  }
  bool finite = true;
  for (size_t i = 0; i < 8; i++) finite &= bad[i] == 0;
  for (; k < cols; k++) {
    uint16_t line[kTileRows] = {};
    for (size_t r = 0; r < n_rows; r++) {
      std::memcpy(&line[r], raw + r * row_bytes + k * sizeof line[0], sizeof line[0]);
      finite &= (line[r] & exponent) != exponent;
    }
    std::memcpy(tile + k * kLine, line, kLine);
  }
  return finite;
}

}  // namespace

Status MakeTiles(const PlannedTensor& planned, uint64_t row, uint64_t n, const char* raw,
                 std::vector<float>* rows, char* tiles) {
  const auto cols = static_cast<size_t>(planned.spec.cols);
  const uint64_t tile_bytes = TileBytes(planned.format, cols);
  const uint64_t row_bytes = planned.row_bytes();
  const bool keep = KeepsBlocks(planned);
  const bool affine = KeepsAffine(planned);
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
    } else if (affine) {
      status = CopyAffine(planned, first, n_rows, tiles);
    } else if (exponent == 0 || !CopyTile16(first, row_bytes, n_rows, cols, exponent, tiles)) {
      // A value that is not finite is named by the packer.
      rows->resize(kTileRows * cols);
      DecodeElements(planned.type(), first, n_rows * cols, rows->data());
      status = PackTile(planned.format, rows->data(), cols, n_rows, cols, tiles, planned.solver);
    }
    if (!status.ok()) {
      return Status(status.code(), FormatText("rows from {}: {}", row + r, Message(status)));
    }
  }
  return OkStatus();
}

}  // namespace krafla

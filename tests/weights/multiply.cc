// Each format reaches its own kernels: packed random rows, multiplied and read back through the
// table, against sums in double over the dequantised rows.
#include <cmath>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "lib/quant/format.h"
#include "lib/weights/weights.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr size_t kRows = 37;
constexpr size_t kCols = 70;
constexpr size_t kTokens = 3;

std::vector<float> Random(size_t n, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(random() % 2001) / 1000.0f - 1.0f;
  return x;
}

void Check(Format format, double row_tolerance) {
  CAPTURE(FormatName(format));
  const std::vector<float> w = Random(kRows * kCols, 1);
  std::vector<unsigned char> tiles(MatrixBytes(format, kRows, kCols));
  Matrix m{format, kRows, kCols, tiles.data()};
  for (size_t tile = 0; tile < m.n_tiles(); ++tile) {
    REQUIRE(PackTile(format, w.data() + tile * kTileRows * kCols, kCols,
                     std::min(kTileRows, kRows - tile * kTileRows), kCols,
                     tiles.data() + tile * TileBytes(format, kCols))
                .ok());
  }
  std::vector<float> row(kCols);
  const size_t ldx = kCols + 3;
  const std::vector<float> x = Random(kTokens * ldx, 2);
  const size_t n_blocks = (kCols + kBlock - 1) / kBlock;
  std::vector<ActBlock> blocks(kTokens * n_blocks);
  for (size_t t = 0; t < kTokens; ++t) {
    kernels::quantize(x.data() + t * ldx, kCols, blocks.data() + t * n_blocks);
  }
  Activations in;
  if (IsQuantized(format)) {
    in.blocks = blocks.data();
  } else {
    in.x = x.data();
    in.ldx = ldx;
  }
  const size_t ldy = m.padded_rows();
  std::vector<float> y(kTokens * ldy, -1.0f);
  Multiply(m, 1, m.n_tiles(), in, kTokens, y.data(), ldy);
  REQUIRE(y[0] == -1.0f);  // tile 0 was not asked for
  Multiply(m, 0, 1, in, kTokens, y.data(), ldy);

  for (size_t r = 0; r < kRows; ++r) {
    GetRow(m, r, row.data());
    for (size_t t = 0; t < kTokens; ++t) {
      double sum = 0;
      for (size_t k = 0; k < kCols; ++k) {
        REQUIRE(std::abs(row[k] - w[r * kCols + k]) <= row_tolerance);
        const ActBlock& block = blocks[t * n_blocks + k / kBlock];
        const double activation = IsQuantized(format)
                                      ? static_cast<double>(block.d) * block.q[k % kBlock]
                                      : static_cast<double>(x[t * ldx + k]);
        sum += static_cast<double>(row[k]) * activation;
      }
      REQUIRE(std::abs(y[t * ldy + r] - sum) <= 1e-4);
    }
  }
}

TEST_CASE("a format's kernels multiply and read rows") {
  Check(Format::kF32, 0);
  Check(Format::kF16, 0.0005);
  Check(Format::kBF16, 0.004);
  Check(Format::kQ8, 0.005);
  Check(Format::kQ4, 0.13);
}

}  // namespace
}  // namespace krafla

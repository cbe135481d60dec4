// Affine packing: error below that of the range rule and of HQQ's solver below it too, codes that
// survive a second packing, GGUF's blocks taken over, edges.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "lib/quant/format.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

struct Affine {
  Format format;
  void (*get_row)(const void* w, size_t k, size_t row, float* y);
  size_t group;
  int levels;
};
const Affine kFormats[] = {{Format::kQ4A, kernels::get_row_q4a, 32, 15},
                           {Format::kQ4A64, kernels::get_row_q4a64, 64, 15},
                           {Format::kQ6A, kernels::get_row_q6a, 32, 63},
                           {Format::kQ6A64, kernels::get_row_q6a64, 64, 63},
                           {Format::kQ8A, kernels::get_row_q8a, 32, 255},
                           {Format::kQ8A64, kernels::get_row_q8a64, 64, 255}};

std::vector<float> Weights(size_t n) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.01F, 0.05F);
  std::vector<float> x(n);
  for (float& v : x) v = normal(random);
  return x;
}

std::vector<float> Packed(const Affine& f, const std::vector<float>& x, size_t n_rows, size_t cols,
                          AffineSolver solver) {
  std::vector<std::byte> tile(TileBytes(f.format, cols));
  REQUIRE(PackTile(f.format, x.data(), cols, n_rows, cols, tile.data(), solver).ok());
  std::vector<float> y(n_rows * cols);
  for (size_t r = 0; r < n_rows; ++r) f.get_row(tile.data(), cols, r, y.data() + r * cols);
  return y;
}

double Loss(const std::vector<float>& x, const std::vector<float>& y) {
  double off = 0;
  double power = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    off += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
    power += double{x[i]} * x[i];
  }
  return off / power;
}

// s = (max - min) / levels, m = min.
double RangeLoss(const Affine& f, const std::vector<float>& x, size_t n_rows, size_t cols) {
  std::vector<float> y = x;
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t k = 0; k < cols; k += f.group) {
      float* group = y.data() + r * cols + k;
      const size_t n = std::min(f.group, cols - k);
      float low = group[0];
      float high = group[0];
      for (size_t i = 0; i < n; ++i) {
        low = std::min(low, group[i]);
        high = std::max(high, group[i]);
      }
      const float s = (high - low) / static_cast<float>(f.levels);
      for (size_t i = 0; i < n; ++i) group[i] = low + s * std::nearbyint((group[i] - low) / s);
    }
  }
  return Loss(x, y);
}

}  // namespace

TEST_CASE("affine: least squares beats HQQ's solver, which beats the range") {
  const size_t n_rows = 16;
  const size_t cols = 640;
  const std::vector<float> x = Weights(n_rows * cols);
  for (const Affine& f : kFormats) {
    INFO(FormatName(f.format));
    const double fitted = Loss(x, Packed(f, x, n_rows, cols, AffineSolver::kLeastSquares));
    const double hqq = Loss(x, Packed(f, x, n_rows, cols, AffineSolver::kHqq));
    const double range = RangeLoss(f, x, n_rows, cols);
    CHECK(fitted < 1.02 * hqq);
    CHECK(hqq < 1.02 * range);
    if (f.levels == 15) CHECK(fitted < 0.9 * range);
  }
}

TEST_CASE("affine: rows, columns and values at the edges") {
  for (const Affine& f : kFormats) {
    INFO(FormatName(f.format));
    for (const size_t cols : {1, 31, 33, 65, 90}) {
      std::vector<float> x = Weights(3 * cols);
      std::fill_n(x.begin(), cols, 0.0F);
      std::fill_n(x.begin() + static_cast<ptrdiff_t>(cols), cols, 0.25F);
      const std::vector<float> y = Packed(f, x, 3, cols, AffineSolver::kLeastSquares);
      for (size_t k = 0; k < cols; ++k) CHECK(y[k] == 0);
      for (size_t k = 0; k < cols; ++k) CHECK(y[cols + k] == Approx(0.25F).epsilon(1e-3));
      for (size_t k = 0; k < cols; ++k) CHECK(std::fabs(y[2 * cols + k] - x[2 * cols + k]) < 0.02);
      std::vector<std::byte> tile(TileBytes(f.format, cols));
      for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity(), -7e4F}) {
        x[cols / 2] = bad;
        const Status status = PackTile(f.format, x.data(), cols, 3, cols, tile.data());
        CHECK(status.code() == absl::StatusCode::kDataLoss);
        CHECK(Message(status).find("row 0, column") != std::string_view::npos);
      }
    }
  }
}

TEST_CASE("affine: blocks of 32 are taken over") {
  std::mt19937 random(5);
  for (const auto& [format, get_row, levels] :
       {std::tuple(Format::kQ4A, &kernels::get_row_q4a, 16),
        std::tuple(Format::kQ6A, &kernels::get_row_q6a, 64)}) {
    AffineBlock blocks[2][3];
    for (auto& row : blocks) {
      for (AffineBlock& block : row) {
        block.s = 0.5F * static_cast<float>(random() % 100);
        block.m = -static_cast<float>(random() % 2048);
        for (uint8_t& q : block.q)
          q = static_cast<uint8_t>(random() % static_cast<unsigned>(levels));
      }
    }
    const AffineBlock* rows[] = {blocks[0], blocks[1]};
    std::vector<std::byte> tile(TileBytes(format, 96));
    REQUIRE(PackTileFromAffine(format, rows, 2, 3, tile.data()).ok());
    for (size_t r = 0; r < 2; ++r) {
      float y[96];
      get_row(tile.data(), 96, r, y);
      for (size_t k = 0; k < 96; ++k) {
        const AffineBlock& block = blocks[r][k / 32];
        REQUIRE(y[k] == block.s * static_cast<float>(block.q[k % 32]) + block.m);
      }
    }
    blocks[1][2].m = 1e5F;
    CHECK_FALSE(PackTileFromAffine(format, rows, 2, 3, tile.data()).ok());
  }
}

}  // namespace krafla

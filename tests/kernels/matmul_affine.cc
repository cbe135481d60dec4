// Affine formats: products and rows equal the scalar kernels' bit for bit, for any number of tokens
// and blocks, half groups too; and the layout is that of the words of kernels.h.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

struct AffineLayout {
  const char* name;
  int bits;
  size_t blocks;  // of a group
  size_t code_bytes() const { return bits == 4 ? kCodesQ4A : bits == 6 ? kCodesQ6A : kCodesQ8A; }
  size_t group_bytes() const { return kAffineScales + blocks * code_bytes(); }
};
const AffineLayout kLayouts[6] = {{"q4a", 4, 1},   {"q4a64", 4, 2}, {"q6a", 6, 1},
                                  {"q6a64", 6, 2}, {"q8a", 8, 1},   {"q8a64", 8, 2}};

size_t groups(const AffineLayout& f, size_t n_blocks) {
  return (n_blocks + f.blocks - 1) / f.blocks;
}

void fill(const AffineLayout& f, Random& random, bool odd, uint8_t* w, size_t n_groups) {
  for (size_t i = 0; i < n_groups; ++i) {
    uint8_t* group = w + i * f.group_bytes();
    const bool extreme = random.below(9) == 0;
    for (size_t j = kAffineScales; j < f.group_bytes(); ++j) {
      group[j] = extreme ? (f.bits == 8 ? 0x80 : 0xff) : static_cast<uint8_t>(random.bits());
    }
    for (size_t r = 0; r < 2 * kTileRows; ++r) {
      const float value = random.uniform(-0.1f, 0.1f);
      uint16_t h;
      reference().f32_to_f16(&value, 1, &h);
      if (odd) h = static_cast<uint16_t>(random.bits());
      std::memcpy(group + 2 * r, &h, 2);
    }
  }
}

void fill_activations(Random& random, bool odd, ActBlock* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    x[i].sum = 0;
    const int extreme = random.below(7) == 0 ? 127 : 0;
    for (int8_t& q : x[i].q) {
      q = static_cast<int8_t>(extreme != 0 ? extreme : static_cast<int>(random.below(255)) - 127);
      x[i].sum += q;
    }
    x[i].d = odd ? std::fabs(random.odd()) : random.uniform(0.0f, 0.05f);
  }
}

int code_of(const AffineLayout& f, const uint8_t* group, size_t r, size_t k) {
  const uint8_t* block = group + kAffineScales + k / 32 * f.code_bytes();
  const size_t j = k % 32, lane = 4 * r + j % 4;
  if (f.bits == 8) return static_cast<int8_t>(block[j / 4 * 64 + lane]);
  const int pair = block[j / 8 * 64 + lane];
  const int low = j % 8 < 4 ? pair % 16 : pair / 16;
  if (f.bits == 4) return low;
  return low + 16 * (block[256 + j / 16 * 64 + lane] >> (j % 16 / 4 * 2) & 3);
}

float half_at(const uint8_t* p) {
  uint16_t h;
  std::memcpy(&h, p, 2);
  float value;
  reference().f16_to_f32(&h, 1, &value);
  return value;
}

TEST_CASE("affine products equal the scalar ones") {
  for (size_t f = 0; f < 6; ++f) {
    const AffineLayout& layout = kLayouts[f];
    for (const bool odd : {false, true}) {
      for (const size_t n_blocks : {1, 2, 3, 18, 27}) {
        for (const size_t n_tokens : {1, 2, 3, 4, 5, 7, 11, 12, 13, 33}) {
          INFO(layout.name << " blocks " << n_blocks << " tokens " << n_tokens << " odd " << odd);
          Random random(n_blocks * 1000 + n_tokens);
          const size_t n_tiles = 3, rows = n_tiles * kTileRows;
          const size_t n_groups = n_tiles * groups(layout, n_blocks);
          const Side side = n_tokens % 2 == 0 ? Side::kFront : Side::kBack;
          Guarded<uint8_t> w(n_groups * layout.group_bytes(), side, side == Side::kFront ? 1 : 0);
          Guarded<ActBlock> x(n_tokens * n_blocks, side);
          Guarded<float> y(n_tokens * rows, side), want(n_tokens * rows);
          fill(layout, random, odd, w.data(), n_groups);
          fill_activations(random, odd, x.data(), x.size());
          reference().matmul_affine[f](w.data(), 0, n_tiles, n_blocks, x.data(), n_tokens,
                                       want.data(), rows);
          selected().matmul_affine[f](w.data(), 1, n_tiles, n_blocks, x.data(), n_tokens, y.data(),
                                      rows);
          selected().matmul_affine[f](w.data(), 0, 1, n_blocks, x.data(), n_tokens, y.data(), rows);
          REQUIRE(first_difference(y.data(), want.data(), y.size()) == y.size());
        }
      }
    }
  }
}

TEST_CASE("affine rows are s q + m, and products the sums of their rows") {
  for (size_t f = 0; f < 6; ++f) {
    const AffineLayout& layout = kLayouts[f];
    INFO(layout.name);
    const size_t k = 90, n_blocks = 3, n_tiles = 2, rows = 32, n = groups(layout, n_blocks);
    Random random(11);
    std::vector<uint8_t> w(n_tiles * n * layout.group_bytes());
    std::vector<ActBlock> x(n_blocks);
    std::vector<float> y(rows);
    fill(layout, random, false, w.data(), n_tiles * n);
    fill_activations(random, false, x.data(), n_blocks);
    selected().matmul_affine[f](w.data(), 0, n_tiles, n_blocks, x.data(), 1, y.data(), rows);
    for (size_t r = 0; r < rows; ++r) {
      Guarded<float> row(96), part(k);
      selected().get_row_affine[f](w.data(), 96, r, row.data());
      selected().get_row_affine[f](w.data(), k, r, part.data());
      REQUIRE(first_difference(row.data(), part.data(), k) == k);
      double sum = 0, size = 0;
      for (size_t j = 0; j < 96; ++j) {
        const size_t in_group = j % (32 * layout.blocks);
        const uint8_t* group = &w[(r / 16 * n + j / (32 * layout.blocks)) * layout.group_bytes()];
        const float s = half_at(group + 2 * (r % 16)), m = half_at(group + 32 + 2 * (r % 16));
        const float scaled = s * static_cast<float>(code_of(layout, group, r % 16, in_group));
        REQUIRE(row[j] == scaled + m);
        const double term = static_cast<double>(row[j]) * x[j / 32].d * x[j / 32].q[j % 32];
        sum += term;
        size += std::fabs(term);
      }
      REQUIRE(std::fabs(y[r] - sum) <= 1e-5 * size);
    }
  }
}

TEST_CASE("affine products", "[!benchmark]") {
  const size_t n_blocks = 64, n_tokens = 128;
  for (size_t f = 0; f < 6; ++f) {
    const AffineLayout& layout = kLayouts[f];
    const size_t tile_bytes = groups(layout, n_blocks) * layout.group_bytes();
    const size_t n_tiles = (size_t{200} << 20) / tile_bytes, gemm_tiles = 36;
    Random random(1);
    std::vector<uint8_t> w(n_tiles * tile_bytes);
    std::vector<ActBlock> x(n_tokens * n_blocks);
    std::vector<float> y(n_tiles * kTileRows), many(n_tokens * gemm_tiles * kTileRows);
    fill(layout, random, false, w.data(), n_tiles * groups(layout, n_blocks));
    fill_activations(random, false, x.data(), x.size());
    BENCHMARK(std::string(layout.name) + " one token, 200 MiB of weights") {
      selected().matmul_affine[f](w.data(), 0, n_tiles, n_blocks, x.data(), 1, y.data(), y.size());
      return y[0];
    };
    BENCHMARK(std::string(layout.name) + " 128 tokens x 576 rows x 2048") {
      selected().matmul_affine[f](w.data(), 0, gemm_tiles, n_blocks, x.data(), n_tokens,
                                  many.data(), gemm_tiles * kTileRows);
      return many[0];
    };
  }
}

}  // namespace
}  // namespace krafla

// Matrix products and rows of tiled matrices: equal to the scalar kernels bit for bit for any
// number of tokens and any split of the tiles, and right by an independent computation.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

struct QuantFormat {
  const char* name;
  size_t block_bytes;
  int lowest;
  MatmulQuant KernelTable::*matmul;
  GetRow KernelTable::*get_row;
};
const QuantFormat kQuant[] = {
    {"q8", kTileBlockQ8, -128, &KernelTable::matmul_q8, &KernelTable::get_row_q8},
    {"q4", kTileBlockQ4, -8, &KernelTable::matmul_q4, &KernelTable::get_row_q4}};

struct FloatFormat {
  const char* name;
  size_t element;
  MatmulFloat KernelTable::*matmul;
  GetRow KernelTable::*get_row;
};
const FloatFormat kFloat[] = {{"f32", 4, &KernelTable::matmul_f32, &KernelTable::get_row_f32},
                              {"f16", 2, &KernelTable::matmul_f16, &KernelTable::get_row_f16},
                              {"bf16", 2, &KernelTable::matmul_bf16, &KernelTable::get_row_bf16}};

uint16_t half(float x) {
  uint16_t h;
  reference().f32_to_f16(&x, 1, &h);
  return h;
}

void fill_quant(const QuantFormat& f, Random& random, bool odd, uint8_t* w, size_t n_tile_blocks) {
  for (size_t i = 0; i < n_tile_blocks; ++i) {
    uint8_t* block = w + i * f.block_bytes;
    const bool zero = random.below(9) == 0, extreme = random.below(9) == 0;
    for (size_t j = 32; j < f.block_bytes; ++j) {
      block[j] = zero ? (f.lowest == -8 ? 0x88 : 0) : static_cast<uint8_t>(random.bits());
      if (extreme) block[j] = f.lowest == -8 ? 0xff : 0x80;
    }
    for (size_t r = 0; r < kTileRows; ++r) {
      const uint16_t h =
          odd ? static_cast<uint16_t>(random.bits()) : half(random.uniform(-0.1f, 0.1f));
      std::memcpy(block + 2 * r, &h, 2);
    }
  }
}

void fill_activations(Random& random, bool odd, ActBlock* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    x[i].sum = 0;
    const int extreme = random.below(7) == 0 ? (random.below(2) == 0 ? 127 : -127) : 0;
    for (int8_t& q : x[i].q) {
      q = static_cast<int8_t>(extreme != 0 ? extreme : static_cast<int>(random.below(255)) - 127);
      x[i].sum += q;
    }
    x[i].d = odd ? std::fabs(random.odd()) : random.uniform(0.0f, 0.05f);
  }
}

void compare_quant(const QuantFormat& f, size_t n_blocks, size_t n_tiles, size_t n_tokens,
                   bool odd) {
  Random random(n_blocks * 1000 + n_tiles * 100 + n_tokens);
  const size_t bytes = n_tiles * n_blocks * f.block_bytes, rows = n_tiles * kTileRows;
  for (const Side side : kSides) {
    Guarded<uint8_t> w(bytes, side, side == Side::kFront ? 1 : 0);
    Guarded<ActBlock> x(n_tokens * n_blocks, side);
    Guarded<float> y(n_tokens * rows, side), want(n_tokens * rows), one(rows, side);
    fill_quant(f, random, odd, w.data(), n_tiles * n_blocks);
    fill_activations(random, odd, x.data(), x.size());
    (reference().*f.matmul)(w.data(), 0, n_tiles, n_blocks, x.data(), n_tokens, want.data(), rows);
    // Each tile range on its own, as threads do.
    const size_t cut = n_tiles / 2;
    (selected().*f.matmul)(w.data(), cut, n_tiles, n_blocks, x.data(), n_tokens, y.data(), rows);
    (selected().*f.matmul)(w.data(), 0, cut, n_blocks, x.data(), n_tokens, y.data(), rows);
    REQUIRE(first_difference(y.data(), want.data(), y.size()) == y.size());
    const size_t t = random.below(n_tokens);
    (selected().*f.matmul)(w.data(), 0, n_tiles, n_blocks, x.data() + t * n_blocks, 1, one.data(),
                           rows);
    REQUIRE(first_difference(one.data(), want.data() + t * rows, rows) == rows);
  }
}

TEST_CASE("quantised products equal the scalar ones") {
  for (const QuantFormat& f : kQuant) {
    for (const bool odd : {false, true}) {
      for (const size_t n_blocks : {1, 2, 3, 18, 28}) {
        for (const size_t n_tokens : {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 17, 33}) {
          INFO(f.name << " blocks " << n_blocks << " tokens " << n_tokens << " odd " << odd);
          compare_quant(f, n_blocks, 3, n_tokens, odd);
        }
      }
    }
  }
}

// The code of a row at k, from the words of kernels.h.
int code_of(const QuantFormat& f, const uint8_t* block, size_t r, size_t k) {
  if (f.lowest == -128) return static_cast<int8_t>(block[32 + k / 4 * 64 + r * 4 + k % 4]);
  const uint8_t byte = block[32 + k / 8 * 64 + r * 4 + k % 4];
  return (k / 4 % 2 == 0 ? byte % 16 : byte / 16) - 8;
}

TEST_CASE("a block's integer sum is exact") {
  for (const QuantFormat& f : kQuant) {
    Random random(5);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::vector<uint8_t> w(f.block_bytes);
      ActBlock x[5];
      float y[5 * kTileRows];
      fill_quant(f, random, false, w.data(), 1);
      fill_activations(random, false, x, 5);
      for (size_t r = 0; r < kTileRows; ++r) {
        const uint16_t one = 0x3c00;
        std::memcpy(&w[2 * r], &one, 2);
      }
      for (ActBlock& block : x) block.d = 1.0f;
      (selected().*f.matmul)(w.data(), 0, 1, 1, x, 5, y, kTileRows);
      for (size_t t = 0; t < 5; ++t) {
        for (size_t r = 0; r < kTileRows; ++r) {
          int64_t sum = 0;
          for (size_t k = 0; k < 32; ++k) sum += code_of(f, w.data(), r, k) * x[t].q[k];
          REQUIRE(y[t * kTileRows + r] == static_cast<float>(sum));
        }
      }
    }
  }
}

TEST_CASE("quantised products are the sums of their rows") {
  for (const QuantFormat& f : kQuant) {
    const size_t k = 90, n_blocks = 3, n_tiles = 2, rows = 32;
    Random random(11);
    std::vector<uint8_t> w(n_tiles * n_blocks * f.block_bytes);
    std::vector<ActBlock> x(n_blocks);
    std::vector<float> y(rows);
    fill_quant(f, random, false, w.data(), n_tiles * n_blocks);
    fill_activations(random, false, x.data(), n_blocks);
    (selected().*f.matmul)(w.data(), 0, n_tiles, n_blocks, x.data(), 1, y.data(), rows);
    for (size_t r = 0; r < rows; ++r) {
      Guarded<float> row(96), same_row(96), part(k);
      (selected().*f.get_row)(w.data(), 96, r, row.data());
      (reference().*f.get_row)(w.data(), 96, r, same_row.data());
      (selected().*f.get_row)(w.data(), k, r, part.data());
      REQUIRE(first_difference(row.data(), same_row.data(), 96) == 96);
      REQUIRE(first_difference(row.data(), part.data(), k) == k);
      double sum = 0, size = 0;
      for (size_t j = 0; j < 96; ++j) {
        const uint8_t* block = &w[(r / 16 * n_blocks + j / 32) * f.block_bytes];
        uint16_t h;
        std::memcpy(&h, block + 2 * (r % 16), 2);
        float scale;
        reference().f16_to_f32(&h, 1, &scale);
        REQUIRE(row[j] == scale * static_cast<float>(code_of(f, block, r % 16, j % 32)));
        const double term = static_cast<double>(row[j]) * x[j / 32].d * x[j / 32].q[j % 32];
        sum += term;
        size += std::fabs(term);
      }
      REQUIRE(std::fabs(y[r] - sum) <= 1e-6 * size);
    }
  }
}

void fill_float(const FloatFormat& f, Random& random, bool odd, uint8_t* w, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float v = odd ? random.odd() : random.uniform(-1.0f, 1.0f);
    uint32_t bits;
    std::memcpy(&bits, &v, 4);
    uint16_t h = f.name[0] == 'b' ? static_cast<uint16_t>(bits >> 16) : half(v);
    if (odd && random.below(3) == 0) h = static_cast<uint16_t>(random.bits());
    if (kFlushes && f.name[0] == 'b' && (h & 0x7f80u) == 0) h = 0;
    if (f.element == 4) {
      std::memcpy(w + 4 * i, &v, 4);
    } else {
      std::memcpy(w + 2 * i, &h, 2);
    }
  }
}

void compare_float(const FloatFormat& f, size_t k, size_t n_tokens, bool odd) {
  Random random(k * 100 + n_tokens);
  const size_t n_tiles = 3, rows = n_tiles * kTileRows, ldx = k + 3;
  for (const Side side : kSides) {
    Guarded<uint8_t> w(n_tiles * k * kTileRows * f.element, side, side == Side::kFront ? 1 : 0);
    Guarded<float> x((n_tokens - 1) * ldx + k, side);
    Guarded<float> y(n_tokens * rows, side), want(n_tokens * rows), one(rows, side);
    fill_float(f, random, odd, w.data(), n_tiles * k * kTileRows);
    for (float& v : x) v = odd ? random.odd() : random.uniform(-1.0f, 1.0f);
    (reference().*f.matmul)(w.data(), 0, n_tiles, k, x.data(), ldx, n_tokens, want.data(), rows);
    (selected().*f.matmul)(w.data(), 1, n_tiles, k, x.data(), ldx, n_tokens, y.data(), rows);
    (selected().*f.matmul)(w.data(), 0, 1, k, x.data(), ldx, n_tokens, y.data(), rows);
    REQUIRE(first_difference(y.data(), want.data(), y.size()) == y.size());
    const size_t t = random.below(n_tokens);
    (selected().*f.matmul)(w.data(), 0, n_tiles, k, x.data() + t * ldx, ldx, 1, one.data(), rows);
    REQUIRE(first_difference(one.data(), want.data() + t * rows, rows) == rows);
  }
}

TEST_CASE("float products equal the scalar ones") {
  for (const FloatFormat& f : kFloat) {
    for (const bool odd : {false, true}) {
      for (const size_t k : {1, 2, 31, 33, 64, 100, 289}) {
        for (const size_t n_tokens : {1, 2, 3, 4, 5, 6, 7, 8, 11, 13, 19}) {
          INFO(f.name << " k " << k << " tokens " << n_tokens << " odd " << odd);
          compare_float(f, k, n_tokens, odd);
        }
      }
    }
  }
}

TEST_CASE("float products are the sums of their rows") {
  for (const FloatFormat& f : kFloat) {
    const size_t k = 77, n_tiles = 2, rows = 32;
    Random random(3);
    std::vector<uint8_t> w(n_tiles * k * kTileRows * f.element);
    std::vector<float> x(k), y(rows);
    fill_float(f, random, false, w.data(), n_tiles * k * kTileRows);
    for (float& v : x) v = random.uniform(-1.0f, 1.0f);
    (selected().*f.matmul)(w.data(), 0, n_tiles, k, x.data(), k, 1, y.data(), rows);
    for (size_t r = 0; r < rows; ++r) {
      Guarded<float> row(k), same_row(k);
      (selected().*f.get_row)(w.data(), k, r, row.data());
      (reference().*f.get_row)(w.data(), k, r, same_row.data());
      REQUIRE(first_difference(row.data(), same_row.data(), k) == k);
      double sum = 0;
      for (size_t j = 0; j < k; ++j) {
        const uint8_t* element = &w[((r / 16 * k + j) * 16 + r % 16) * f.element];
        float v;
        uint16_t h;
        std::memcpy(&h, element, 2);
        if (f.element == 4) {
          std::memcpy(&v, element, 4);
        } else if (f.name[0] == 'b') {
          const uint32_t bits = static_cast<uint32_t>(h) << 16;
          std::memcpy(&v, &bits, 4);
        } else {
          reference().f16_to_f32(&h, 1, &v);
        }
        REQUIRE(row[j] == v);
        sum += static_cast<double>(v) * x[j];
      }
      REQUIRE(std::fabs(y[r] - sum) <= 2e-5);
    }
  }
}

TEST_CASE("matrix products", "[!benchmark]") {
  const size_t k = 2048, n_blocks = k / kBlock, n_tokens = 128;
  for (const QuantFormat& f : kQuant) {
    const size_t n_tiles = (size_t{200} << 20) / (n_blocks * f.block_bytes), gemm_tiles = 36;
    Random random(1);
    std::vector<uint8_t> w(n_tiles * n_blocks * f.block_bytes);
    std::vector<ActBlock> x(n_tokens * n_blocks);
    std::vector<float> y(n_tiles * kTileRows), many(n_tokens * gemm_tiles * kTileRows);
    fill_quant(f, random, false, w.data(), n_tiles * n_blocks);
    fill_activations(random, false, x.data(), x.size());
    BENCHMARK(std::string(f.name) + " one token, 200 MiB of weights") {
      (selected().*f.matmul)(w.data(), 0, n_tiles, n_blocks, x.data(), 1, y.data(), y.size());
      return y[0];
    };
    BENCHMARK(std::string(f.name) + " 128 tokens x 576 rows x 2048") {
      (selected().*f.matmul)(w.data(), 0, gemm_tiles, n_blocks, x.data(), n_tokens, many.data(),
                             gemm_tiles * kTileRows);
      return many[0];
    };
  }
}

}  // namespace
}  // namespace krafla

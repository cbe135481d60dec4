// Packed tiles, read back by the kernels' get_row: values, padding, limits, and the fit of the q4
// rule.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/kernels.h"
#include "lib/quant/format.h"
#include "lib/quant/half.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr Format kFormats[] = {Format::kF32, Format::kF16, Format::kBF16, Format::kQ8, Format::kQ4};

std::vector<float> Gaussian(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02f);
  std::vector<float> values(n);
  for (float& value : values) value = normal(random);
  return values;
}

void GetRow(Format format, const void* tile, size_t k, size_t row, float* y) {
  switch (format) {
    case Format::kF32:
      return kernels::get_row_f32(tile, k, row, y);
    case Format::kF16:
      return kernels::get_row_f16(tile, k, row, y);
    case Format::kBF16:
      return kernels::get_row_bf16(tile, k, row, y);
    case Format::kQ8:
      return kernels::get_row_q8(tile, k, row, y);
    case Format::kQ4:
      return kernels::get_row_q4(tile, k, row, y);
    default:  // the affine formats: affine.cc
      return;
  }
}

TEST_CASE("format names and sizes", "[quant]") {
  for (const Format format : kFormats) {
    CHECK(*ParseFormat(FormatName(format)) == format);
    CHECK(*FormatFromId(static_cast<uint32_t>(format)) == format);
  }
  CHECK(Message(ParseFormat("q5").status()).find("f32 f16 bf16 q8 q4") != std::string_view::npos);
  CHECK(FormatFromId(99).status().code() == absl::StatusCode::kUnimplemented);
  CHECK(TileBytes(Format::kQ4, 33) == 2 * 288);
  CHECK(TileBytes(Format::kF16, 33) == 33 * 32);
  CHECK(MatrixBytes(Format::kQ8, 17, 32) == 2 * 544);
}

TEST_CASE("packed tiles read back", "[quant]") {
  for (const Format format : kFormats) {
    for (const size_t cols : {1, 31, 32, 33, 72, 104, 576}) {
      for (const size_t n_rows : {1, 13, 16}) {
        CAPTURE(FormatName(format), cols, n_rows);
        const size_t ld = cols + 3;
        const std::vector<float> rows = Gaussian(ld * n_rows, 5);
        std::vector<char> tile(TileBytes(format, cols), '\x55');
        REQUIRE(PackTile(format, rows.data(), ld, n_rows, cols, tile.data()).ok());
        const size_t padded = IsQuantized(format) ? (cols + 31) / 32 * 32 : cols;
        std::vector<float> y(padded);
        for (size_t r = 0; r < 16; r++) {
          GetRow(format, tile.data(), padded, r, y.data());
          for (size_t k = 0; k < padded; k++) {
            const float x = r < n_rows && k < cols ? rows[r * ld + k] : 0;
            const float step = format == Format::kF32    ? 0
                               : format == Format::kF16  ? 5e-4f * std::fabs(x)
                               : format == Format::kBF16 ? 4e-3f * std::fabs(x)
                               : format == Format::kQ8   ? 0.001f
                                                         : 0.02f;
            REQUIRE(std::fabs(y[k] - x) <=
                    (x == 0 || format == Format::kF32 ? 0 : step + 0x1p-25f));
          }
        }
      }
    }
  }
}

TEST_CASE("values that a format cannot hold are named", "[quant]") {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  struct Case {
    Format format;
    float value;
  };
  const Case cases[] = {{Format::kF32, inf},   {Format::kF32, nan},      {Format::kF16, 65520.0f},
                        {Format::kF16, -1e9f}, {Format::kBF16, 3.4e38f}, {Format::kQ8, -nan},
                        {Format::kQ8, 9e6f},   {Format::kQ4, -inf},      {Format::kQ4, 6e5f}};
  for (const Case& c : cases) {
    std::vector<float> rows(3 * 40, 1.0f);
    rows[40 + 37] = c.value;
    std::vector<char> tile(TileBytes(c.format, 40));
    const Status status = PackTile(c.format, rows.data(), 40, 3, 40, tile.data());
    CAPTURE(std::string(Message(status)));
    CHECK(status.code() == absl::StatusCode::kDataLoss);
    CHECK(Message(status).find("row 1, column") != std::string_view::npos);
  }
  for (const Format format : kFormats) {  // large, small and denormal values that do fit
    for (const float value : {60000.0f, -60000.0f, 1e-7f, 1e-20f, 1e-40f, 0.0f, -0.0f}) {
      std::vector<float> row(32, value);
      row[3] = -value;
      std::vector<char> tile(TileBytes(format, 32));
      REQUIRE(PackTile(format, row.data(), 32, 1, 32, tile.data()).ok());
      std::vector<float> y(32);
      GetRow(format, tile.data(), 32, 0, y.data());
      for (size_t k = 0; k < 32; k++) {
        CHECK(std::fabs(y[k] - row[k]) <= 0.08f * std::fabs(value) + 1e-7f);
      }
    }
  }
}

// GGUF blocks as llama.cpp's rules make them.
std::vector<unsigned char> MakeQ8_0(const float* x, size_t n) {
  std::vector<unsigned char> out;
  for (size_t b = 0; b < n; b += 32) {
    float amax = 0;
    for (size_t i = 0; i < 32; i++) amax = std::max(amax, std::fabs(x[b + i]));
    const float d = amax / 127;
    const uint16_t half = F32ToF16(d);
    unsigned char block[34];
    std::memcpy(block, &half, 2);
    for (size_t i = 0; i < 32; i++) {
      block[2 + i] = static_cast<unsigned char>(std::lround(d != 0 ? x[b + i] / d : 0));
    }
    out.insert(out.end(), block, block + 34);
  }
  return out;
}

std::vector<unsigned char> MakeQ4_0(const float* x, size_t n) {
  std::vector<unsigned char> out;
  for (size_t b = 0; b < n; b += 32) {
    float max = 0;
    for (size_t i = 0; i < 32; i++) {
      if (std::fabs(x[b + i]) > std::fabs(max)) max = x[b + i];
    }
    const float d = max / -8;
    const uint16_t half = F32ToF16(d);
    unsigned char block[18];
    std::memcpy(block, &half, 2);
    const auto code = [&](size_t i) {
      return std::min(15, static_cast<int>((d != 0 ? x[b + i] / d : 0) + 8.5f));
    };
    for (size_t i = 0; i < 16; i++) {
      block[2 + i] = static_cast<unsigned char>(code(i) | (code(16 + i) << 4));
    }
    out.insert(out.end(), block, block + 18);
  }
  return out;
}

TEST_CASE("GGUF blocks keep their values", "[quant]") {
  const size_t cols = 96;
  const std::vector<float> rows = Gaussian(16 * cols, 9);
  for (const Format format : {Format::kQ8, Format::kQ4}) {
    std::vector<std::vector<unsigned char>> blocks(16);
    std::vector<const void*> pointers;
    for (size_t r = 0; r < 16; r++) {
      blocks[r] =
          format == Format::kQ8 ? MakeQ8_0(&rows[r * cols], cols) : MakeQ4_0(&rows[r * cols], cols);
      pointers.push_back(blocks[r].data());
    }
    if (format == Format::kQ8) blocks[2][2] = 0x80;  // -128 is legal in foreign files
    std::vector<char> tile(TileBytes(format, cols));
    const auto pack = format == Format::kQ8 ? PackTileFromQ8_0 : PackTileFromQ4_0;
    REQUIRE(pack(pointers.data(), 13, 3, tile.data()).ok());
    std::vector<float> values(16 * cols);
    for (size_t r = 0; r < 16; r++) {
      GetRow(format, tile.data(), cols, r, &values[r * cols]);
      for (size_t k = 0; k < cols; k++) {
        const unsigned char* block = blocks[r].data() + k / 32 * (format == Format::kQ8 ? 34 : 18);
        uint16_t half;
        std::memcpy(&half, block, 2);
        const size_t i = k % 32;
        const int q = format == Format::kQ8 ? static_cast<int8_t>(block[2 + i])
                      : i < 16              ? (block[2 + i] & 15) - 8
                                            : (block[2 + i - 16] >> 4) - 8;
        REQUIRE(values[r * cols + k] == (r < 13 ? F16ToF32(half) * static_cast<float>(q) : 0));
      }
    }
    // Quantising values that came from such blocks gives the blocks back.
    if (format == Format::kQ8) blocks[2][2] = 0;
    REQUIRE(pack(pointers.data(), 16, 3, tile.data()).ok());
    for (size_t r = 0; r < 16; r++) GetRow(format, tile.data(), cols, r, &values[r * cols]);
    std::vector<char> again(tile.size());
    REQUIRE(PackTile(format, values.data(), cols, 16, cols, again.data()).ok());
    std::vector<float> y(cols);
    for (size_t r = 0; r < 16; r++) {
      GetRow(format, again.data(), cols, r, y.data());
      for (size_t k = 0; k < cols; k++) REQUIRE(y[k] == values[r * cols + k]);
    }
    blocks[1][1] = 0x7C;  // an infinite scale
    CHECK(pack(pointers.data(), 13, 3, tile.data()).code() == absl::StatusCode::kDataLoss);
  }
}

TEST_CASE("the q4 rule fits no worse than the signed maximum over -8", "[quant]") {
  const size_t cols = 32 * 256;
  const std::vector<float> rows = Gaussian(16 * cols, 11);
  std::vector<char> tile(TileBytes(Format::kQ4, cols));
  REQUIRE(PackTile(Format::kQ4, rows.data(), cols, 16, cols, tile.data()).ok());
  double ours = 0;
  double theirs = 0;
  double power = 0;
  std::vector<float> y(cols);
  for (size_t r = 0; r < 16; r++) {
    GetRow(Format::kQ4, tile.data(), cols, r, y.data());
    const auto blocks = MakeQ4_0(&rows[r * cols], cols);
    for (size_t k = 0; k < cols; k++) {
      const double x = rows[r * cols + k];
      const unsigned char* block = &blocks[k / 32 * 18];
      uint16_t half;
      std::memcpy(&half, block, 2);
      const size_t i = k % 32;
      const int q = i < 16 ? (block[2 + i] & 15) - 8 : (block[2 + i - 16] >> 4) - 8;
      ours += (y[k] - x) * (y[k] - x);
      theirs += (F16ToF32(half) * q - x) * (F16ToF32(half) * q - x);
      power += x * x;
    }
  }
  WARN("q4 error: " << ours / power << ", signed maximum: " << theirs / power);
  CHECK(ours <= theirs);
}

}  // namespace
}  // namespace krafla

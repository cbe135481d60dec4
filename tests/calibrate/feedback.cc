// Error feedback: less loss on the input that it was made for than the data-free rule, codes that
// say what the weights became, the same bits for any threads; shapes and values at the edges.
#include "lib/calibrate/feedback.h"

#include <cmath>
#include <random>

#include "kernels/kernels.h"
#include "lib/weights/weights.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr Format kFeedbackFormats[] = {Format::kQ4,    Format::kQ4A, Format::kQ4A64,
                                       Format::kQ6A64, Format::kQ8A, Format::kQ8A64};

struct Case {
  size_t rows;
  size_t cols;
  std::vector<float> weights;  // row by row
  std::vector<float> inputs;   // [n_inputs][cols], correlated
  size_t n_inputs = 512;
};

Case MakeCase(size_t rows, size_t cols) {
  std::mt19937 random(static_cast<uint32_t>(rows * cols));
  std::normal_distribution<float> normal;
  Case c{rows, cols, {}, {}};
  for (size_t i = 0; i < rows * cols; ++i) c.weights.push_back(0.05F * normal(random));
  for (size_t i = 0; i < c.n_inputs; ++i) {
    const float common = normal(random);
    for (size_t k = 0; k < cols; ++k) {
      c.inputs.push_back(common + 0.5F * normal(random) * static_cast<float>(1 + k % 5));
    }
  }
  return c;
}

std::vector<float> Tiles(const Case& c) {
  std::vector<float> tiles((c.rows + 15) / 16 * 16 * c.cols);
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t k = 0; k < c.cols; ++k) {
      tiles[(r / 16 * c.cols + k) * 16 + r % 16] = c.weights[r * c.cols + k];
    }
  }
  return tiles;
}

std::unique_ptr<ThreadPool> Pool(int32_t threads) {
  ThreadOptions options;
  options.threads = threads;
  auto pool = ThreadPool::Create(options);
  REQUIRE(pool.ok());
  return *std::move(pool);
}

std::vector<std::byte> WithFeedback(const Case& c, Format format, int32_t threads,
                                    std::vector<float>* values) {
  const auto pool = Pool(threads);
  Gram gram(c.cols);
  gram.Add(c.inputs.data(), c.cols, c.n_inputs, *pool);
  REQUIRE(gram.Factor(0.01, 0, *pool).ok());
  *values = Tiles(c);
  std::vector<std::byte> tiles(MatrixBytes(format, c.rows, c.cols));
  REQUIRE(QuantizeWithFeedback(format, gram, c.rows, values->data(), tiles.data(), *pool).ok());
  return tiles;
}

// Sum of squares of what the outputs lose.
double Loss(const Case& c, Format format, const std::vector<std::byte>& tiles) {
  const Matrix matrix{format, c.rows, c.cols, tiles.data()};
  std::vector<float> row(c.cols);
  double loss = 0;
  for (size_t r = 0; r < c.rows; ++r) {
    GetRow(matrix, r, row.data());
    for (size_t i = 0; i < c.n_inputs; ++i) {
      double off = 0;
      for (size_t k = 0; k < c.cols; ++k) {
        off += double{c.inputs[i * c.cols + k]} * (double{c.weights[r * c.cols + k]} - row[k]);
      }
      loss += off * off;
    }
  }
  return loss;
}

std::vector<std::byte> Plain(const Case& c, Format format) {
  std::vector<std::byte> tiles(MatrixBytes(format, c.rows, c.cols));
  const size_t tile_bytes = TileBytes(format, c.cols);
  for (size_t r = 0; r < c.rows; r += 16) {
    REQUIRE(PackTile(format, c.weights.data() + r * c.cols, c.cols,
                     std::min<size_t>(16, c.rows - r), c.cols, tiles.data() + r / 16 * tile_bytes)
                .ok());
  }
  return tiles;
}

}  // namespace

TEST_CASE("feedback loses less than the data-free rule") {
  for (const Format format : kFeedbackFormats) {
    for (const size_t cols : {64, 90, 200}) {
      const Case c = MakeCase(40, cols);
      std::vector<float> values;
      const std::vector<std::byte> tiles = WithFeedback(c, format, 1, &values);
      INFO(FormatName(format) << " " << cols);
      CHECK(Loss(c, format, tiles) < 0.95 * Loss(c, format, Plain(c, format)));
    }
  }
}

TEST_CASE("the weights become what the codes say, whatever the threads") {
  for (const Format format : kFeedbackFormats) {
    const Case c = MakeCase(150, 77);
    std::vector<float> values;
    const std::vector<std::byte> tiles = WithFeedback(c, format, 1, &values);
    const Matrix matrix{format, c.rows, c.cols, tiles.data()};
    std::vector<float> row(c.cols);
    for (size_t r = 0; r < c.rows; ++r) {
      GetRow(matrix, r, row.data());
      for (size_t k = 0; k < c.cols; ++k) {
        REQUIRE(row[k] == values[(r / 16 * c.cols + k) * 16 + r % 16]);
      }
    }
    std::vector<float> again;
    CHECK(WithFeedback(c, format, 3, &again) == tiles);
    CHECK(again == values);
  }
}

TEST_CASE("blocks of zeros stay zeros; huge weights stay finite") {
  for (const Format format : kFeedbackFormats) {
    Case c = MakeCase(16, 128);
    for (size_t k = 0; k < 64; ++k) c.weights[k] = 0;
    for (size_t k = 0; k < 64; ++k) c.weights[128 + k] = k % 2 == 0 ? 6e4F : -6e4F;
    c.inputs.assign(c.inputs.size(), 0);  // nothing is fed back
    std::vector<float> values;
    const std::vector<std::byte> tiles = WithFeedback(c, format, 1, &values);
    for (size_t k = 0; k < 64; ++k) CHECK(values[k * 16] == 0);
    for (const float v : values) REQUIRE(std::isfinite(v));
  }
}

TEST_CASE("moved weights give on other inputs the outputs that they gave") {
  const Case c = MakeCase(20, 48);
  const auto pool = Pool(2);
  std::vector<float> x = c.inputs;  // what the layers before make of the inputs
  std::vector<float> lacking(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 0.9F * c.inputs[i] + 0.1F * c.inputs[(i + 1) % x.size()];
    lacking[i] = c.inputs[i] - x[i];
  }
  Gram gram(c.cols);
  gram.Add(x.data(), c.cols, c.n_inputs, *pool);
  std::vector<float> cross;
  gram.AddCross(x.data(), c.cols, lacking.data(), c.cols, c.n_inputs, &cross, *pool);
  REQUIRE(gram.Factor(1e-4, 0, *pool).ok());
  const std::vector<float> before = Tiles(c);
  std::vector<float> after = before;
  MoveToInputs(gram, cross, c.rows, after.data(), 1, *pool);
  const auto loss = [&](const std::vector<float>& tiles) {
    double sum = 0;
    for (size_t r = 0; r < c.rows; ++r) {
      for (size_t i = 0; i < c.n_inputs; ++i) {
        double off = 0;
        for (size_t k = 0; k < c.cols; ++k) {
          off += double{c.weights[r * c.cols + k]} * c.inputs[i * c.cols + k] -
                 double{tiles[(r / 16 * c.cols + k) * 16 + r % 16]} * x[i * c.cols + k];
        }
        sum += off * off;
      }
    }
    return sum;
  };
  CHECK(loss(after) < 0.5 * loss(before));
}

}  // namespace krafla

// Norm, sums, products, gated activations and rotation of rows.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

void fill(Random& random, bool odd, Guarded<float>& x) {
  for (float& v : x) v = odd ? random.odd() : random.uniform(-2.0f, 2.0f);
}

TEST_CASE("rms_norm equals the scalar one and the formula") {
  for (const size_t n : kCounts) {
    if (n == 0) continue;
    for (const Side side : kSides) {
      for (const bool odd : {false, true}) {
        Random random(n);
        Guarded<float> x(n, side), w(n, side), y(n, side), want(n);
        fill(random, odd, x);
        fill(random, odd, w);
        selected().rms_norm(x.data(), w.data(), n, 1e-5f, y.data());
        reference().rms_norm(x.data(), w.data(), n, 1e-5f, want.data());
        REQUIRE(first_difference(y.data(), want.data(), n) == n);
        if (!odd) {
          double squares = 0;
          for (const float v : x) squares += static_cast<double>(v) * v;
          const double scale = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5f);
          for (size_t i = 0; i < n; ++i) {
            REQUIRE(std::fabs(y[i] - x[i] * scale * w[i]) <= 2e-6 * (1 + std::fabs(y[i])));
          }
        }
        selected().rms_norm(x.data(), w.data(), n, 1e-5f, x.data());
        REQUIRE(first_difference(x.data(), want.data(), n) == n);
      }
    }
  }
}

TEST_CASE("the partial sums fold in the stated order") {
  // Squares of very different sizes: another order gives other bits.
  std::vector<float> x(50), w(50, 1.0f), y(50);
  Random random(2);
  for (float& v : x) v = std::ldexp(random.uniform(1.0f, 2.0f), static_cast<int>(random.below(12)));
  selected().rms_norm(x.data(), w.data(), 50, 0.0f, y.data());
  volatile float sums[16] = {};
  for (size_t i = 0; i < 50; ++i) sums[i % 16] = sums[i % 16] + x[i] * x[i];
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) sums[l] = sums[l] + sums[l + half];
  }
  volatile float scale = 1.0f / std::sqrt(sums[0] / 50.0f);
  for (size_t i = 0; i < 50; ++i) REQUIRE(same(y[i], x[i] * scale));
}

TEST_CASE("add and mul and scale") {
  for (const size_t n : kCounts) {
    for (const Side side : kSides) {
      Random random(n);
      Guarded<float> x(n, side), y(n, side), z(n, side), sum(n), product(n);
      fill(random, true, x);
      fill(random, true, y);
      for (size_t i = 0; i < n; ++i) {
        z[i] = y[i];
        sum[i] = y[i] + x[i];
        product[i] = y[i] * x[i];
      }
      selected().add(x.data(), n, y.data());
      selected().mul(x.data(), n, z.data());
      REQUIRE(first_difference(y.data(), sum.data(), n) == n);
      REQUIRE(first_difference(z.data(), product.data(), n) == n);
      const float factor = n % 2 == 0 ? 0.75f : random.odd();
      for (size_t i = 0; i < n; ++i) product[i] = x[i] * factor;
      selected().scale(factor, n, x.data());
      REQUIRE(first_difference(x.data(), product.data(), n) == n);
    }
  }
}

TEST_CASE("gated activations equal the scalar ones and the formulas") {
  const struct {
    Gated KernelTable::*gated;
    double (*exact)(double);
  } kGated[] = {
      {&KernelTable::silu_mul, [](double g) { return g / (1 + std::exp(-g)); }},
      {&KernelTable::gelu_tanh_mul,
       [](double g) {
         return 0.5 * g *
                (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (g + 0.044715 * g * g * g)));
       }},
      {&KernelTable::gelu_erf_mul,
       [](double g) { return 0.5 * g * (1 + std::erf(g / std::numbers::sqrt2)); }}};
  for (const auto& f : kGated) {
    for (const size_t n : kCounts) {
      for (const Side side : kSides) {
        for (const bool odd : {false, true}) {
          Random random(n);
          Guarded<float> gate(n, side), up(n, side), y(n, side), want(n);
          fill(random, odd, gate);
          fill(random, odd, up);
          (selected().*f.gated)(gate.data(), up.data(), n, y.data());
          (reference().*f.gated)(gate.data(), up.data(), n, want.data());
          REQUIRE(first_difference(y.data(), want.data(), n) == n);
          for (size_t i = 0; i < n && !odd; ++i) {
            REQUIRE(std::fabs(y[i] - f.exact(gate[i]) * up[i]) <= 1e-6);
          }
          (selected().*f.gated)(gate.data(), up.data(), n, gate.data());
          REQUIRE(first_difference(gate.data(), want.data(), n) == n);
        }
      }
    }
  }
}

TEST_CASE("dot folds 16 partial sums") {
  for (const size_t n : kCounts) {
    for (const Side side : kSides) {
      for (const bool odd : {false, true}) {
        Random random(n);
        Guarded<float> x(n, side), y(n, side);
        fill(random, odd, x);
        fill(random, odd, y);
        REQUIRE(
            same(selected().dot(x.data(), y.data(), n), reference().dot(x.data(), y.data(), n)));
      }
    }
  }
}

TEST_CASE("the clamped SwiGLU equals the scalar one and the formula") {
  for (const size_t n : kCounts) {
    for (const Side side : kSides) {
      for (const bool odd : {false, true}) {
        Random random(n);
        Guarded<float> gate(n, side), up(n, side), y(n, side), want(n);
        fill(random, odd, gate);
        fill(random, odd, up);
        const float alpha = 1.702f, limit = 1.25f;
        selected().swiglu_clamped(gate.data(), up.data(), alpha, limit, n, y.data());
        reference().swiglu_clamped(gate.data(), up.data(), alpha, limit, n, want.data());
        REQUIRE(first_difference(y.data(), want.data(), n) == n);
        for (size_t i = 0; i < n && !odd; ++i) {
          const double g = std::min<double>(gate[i], limit);
          const double u = std::clamp<double>(up[i], -limit, limit);
          REQUIRE(std::fabs(y[i] - g / (1 + std::exp(-g * alpha)) * (u + 1)) <= 2e-6);
        }
        selected().swiglu_clamped(gate.data(), up.data(), alpha, limit, n, gate.data());
        REQUIRE(first_difference(gate.data(), want.data(), n) == n);
      }
    }
  }
}

TEST_CASE("rope turns pairs of halves and nothing else") {
  for (const size_t head_dim : {16, 24, 64, 80, 96, 128, 256}) {
    for (const size_t n_rot : {head_dim, head_dim / 2, size_t{6}}) {
      for (const Side side : kSides) {
        const size_t n_heads = 3, ld = head_dim + 1, half = n_rot / 2;
        Random random(head_dim);
        Guarded<float> x((n_heads - 1) * ld + head_dim, side), want(x.size());
        Guarded<float> cos(half, side), sin(half, side), before(x.size());
        fill(random, false, x);
        for (size_t j = 0; j < half; ++j) {
          cos[j] = std::cos(random.uniform(0.0f, 6.0f));
          sin[j] = std::sin(random.uniform(0.0f, 6.0f));
        }
        std::memcpy(want.data(), x.data(), 4 * x.size());
        std::memcpy(before.data(), x.data(), 4 * x.size());
        selected().rope(x.data(), n_heads, ld, n_rot, cos.data(), sin.data());
        reference().rope(want.data(), n_heads, ld, n_rot, cos.data(), sin.data());
        REQUIRE(first_difference(x.data(), want.data(), x.size()) == x.size());
        for (size_t i = 0; i < x.size(); ++i) {
          const size_t h = i / ld, c = i % ld;
          double expected = before[i];
          if (c < half) {
            expected = before[i] * cos[c] - before[i + half] * sin[c];
          } else if (c < n_rot) {
            expected = before[i] * cos[c - half] + before[i - half] * sin[c - half];
          }
          INFO("head " << h << " channel " << c);
          REQUIRE(std::fabs(x[i] - expected) <= 1e-6);
        }
      }
    }
  }
}

}  // namespace
}  // namespace krafla

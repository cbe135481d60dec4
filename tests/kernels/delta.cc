// Convolution and gated delta rule: equal to the scalar ones, to their formulas in double, and to
// themselves whatever the cut of the tokens.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

using Floats = std::vector<float>;

Floats random_floats(Random& random, size_t n, float range) {
  Floats values(n);
  for (float& v : values) v = random.uniform(-range, range);
  return values;
}

double silu(double y) { return y / (1 + std::exp(-y)); }

TEST_CASE("conv_silu equals the scalar one and the formula, whatever the cut") {
  for (const size_t taps : {2, 3, 4, 8}) {
    for (const size_t n : {1, 7, 16, 33, 64, 100}) {
      for (const size_t n_tokens : {0, 1, 2, 5, 40}) {
        Random random(taps * 1000 + n + n_tokens);
        const size_t ldx = n + 3, ldw = n + 1, ld_tail = n + 2;
        const Floats x = random_floats(random, n_tokens * ldx, 2);
        Guarded<float> w((taps - 1) * ldw + n);
        for (float& v : w) v = random.uniform(-1, 1);
        const Floats tail = random_floats(random, (taps - 1) * ld_tail, 2);
        Floats want = x, want_tail = tail;
        reference().conv_silu(want.data(), ldx, n_tokens, n, w.data(), ldw, taps, want_tail.data(),
                              ld_tail);
        for (const size_t cut : {size_t{0}, n_tokens / 2, n_tokens}) {
          const size_t used = n_tokens == 0 ? 0 : (n_tokens - 1) * ldx + n;
          Guarded<float> got(used), got_tail((taps - 2) * ld_tail + n);
          std::memcpy(got.data(), x.data(), used * sizeof(float));
          std::memcpy(got_tail.data(), tail.data(), got_tail.size() * sizeof(float));
          selected().conv_silu(got.data(), ldx, cut, n, w.data(), ldw, taps, got_tail.data(),
                               ld_tail);
          selected().conv_silu(got.data() + cut * ldx, ldx, n_tokens - cut, n, w.data(), ldw, taps,
                               got_tail.data(), ld_tail);
          REQUIRE(first_difference(got.data(), want.data(), used) == used);
          REQUIRE(first_difference(got_tail.data(), want_tail.data(), got_tail.size()) ==
                  got_tail.size());
        }
        for (size_t t = 0; t < n_tokens; ++t) {
          for (size_t c = 0; c < n; ++c) {
            double y = 0;
            for (size_t j = 0; j < taps; ++j) {
              const size_t at = t + j;  // of the tail's rows and then the tokens
              y += double{w[j * ldw + c]} *
                   (at < taps - 1 ? tail[at * ld_tail + c] : x[(at - taps + 1) * ldx + c]);
            }
            REQUIRE(std::fabs(want[t * ldx + c] - silu(y)) <= 1e-5);
          }
        }
      }
    }
  }
}

struct Delta {
  Delta(size_t n_tokens, size_t head_dim, size_t n_columns, bool odd)
      : random(n_tokens + head_dim) {
    const float range = 1.0f / std::sqrt(static_cast<float>(head_dim));
    ld = 2 * head_dim + 3 + n_columns;
    rows = random_floats(random, n_tokens * ld, range);
    state = Floats(head_dim * kDeltaColumns);
    for (size_t i = 0; i < state.size(); ++i) {
      if (i % kDeltaColumns < n_columns) state[i] = odd ? random.odd() : random.uniform(-1, 1);
    }
    args = {n_tokens, ld,      nullptr,  nullptr,   nullptr, nullptr,
            nullptr,  nullptr, head_dim, n_columns, nullptr};
    for (size_t t = 0; t < n_tokens; ++t) {
      float* row = &rows[t * ld];
      row[2 * head_dim] = reference().dot(row, row + head_dim, head_dim);
      row[2 * head_dim + 1] = random.uniform(0.5f, 1);
      row[2 * head_dim + 2] = random.uniform(0, 1);
    }
  }
  DeltaArgs At(float* base, float* state_base, size_t first, size_t n) const {
    DeltaArgs a = args;
    float* row = base + first * ld;
    a.n_tokens = n;
    a.q = row;
    a.k = row + a.head_dim;
    a.qk = row + 2 * a.head_dim;
    a.decay = a.qk + 1;
    a.beta = a.qk + 2;
    a.v = row + 2 * a.head_dim + 3;
    a.state = state_base;
    return a;
  }
  Random random;
  size_t ld = 0;
  Floats rows, state;
  DeltaArgs args;
};

TEST_CASE("gated_delta equals the scalar one, whatever the cut") {
  for (const size_t head_dim : {2, 16, 33, 128}) {
    for (const size_t n_columns : {1, 15, 16, 17, 31, 32}) {
      for (const size_t n_tokens : {1, 2, 9}) {
        for (const bool odd : {false, true}) {
          const Delta d(n_tokens, head_dim, n_columns, odd);
          Floats want = d.rows, want_state = d.state;
          reference().gated_delta(d.At(want.data(), want_state.data(), 0, n_tokens));
          for (const size_t cut : {size_t{0}, n_tokens / 2}) {
            Guarded<float> got(d.rows.size()), state(d.state.size());
            std::memcpy(got.data(), d.rows.data(), d.rows.size() * sizeof(float));
            std::memcpy(state.data(), d.state.data(), d.state.size() * sizeof(float));
            selected().gated_delta(d.At(got.data(), state.data(), 0, cut));
            selected().gated_delta(d.At(got.data(), state.data(), cut, n_tokens - cut));
            REQUIRE(first_difference(got.data(), want.data(), want.size()) == want.size());
            REQUIRE(first_difference(state.data(), want_state.data(), state.size()) ==
                    state.size());
          }
        }
      }
    }
  }
}

// S = decay S; S = S + k beta (v - S^T k)^T; o = S^T q: the rule as papers have it.
TEST_CASE("gated_delta is the gated delta rule") {
  const size_t n_tokens = 50, d = 24, n_columns = 20;
  const Delta data(n_tokens, d, n_columns, false);
  Floats rows = data.rows, state = data.state;
  reference().gated_delta(data.At(rows.data(), state.data(), 0, n_tokens));
  std::vector<double> s(data.state.begin(), data.state.end());
  for (size_t t = 0; t < n_tokens; ++t) {
    const float* row = &data.rows[t * data.ld];
    for (size_t c = 0; c < n_columns; ++c) {
      double u = 0, o = 0;
      for (size_t i = 0; i < d; ++i) {
        double& cell = s[i * kDeltaColumns + c];
        cell *= row[2 * d + 1];
        u += cell * row[d + i];
      }
      for (size_t i = 0; i < d; ++i) {
        double& cell = s[i * kDeltaColumns + c];
        cell += row[d + i] * row[2 * d + 2] * (row[2 * d + 3 + c] - u);
        o += cell * row[i];
      }
      REQUIRE(std::fabs(rows[t * data.ld + 2 * d + 3 + c] - o) <= 1e-5);
    }
  }
}

TEST_CASE("gated_delta: time", "[!benchmark]") {
  const size_t n_tokens = 64;
  Delta d(n_tokens, 128, 32, false);
  BENCHMARK("64 tokens of a tile of 128 x 32") {
    selected().gated_delta(d.At(d.rows.data(), d.state.data(), 0, n_tokens));
    return d.state[0];
  };
}

}  // namespace
}  // namespace krafla

// Quantised KV pages: what pack_keys and pack_values write stands for what they were given, to half
// a step; the rotation of values is orthogonal. Every set equals the scalar one.
#include <cmath>
#include <vector>

#include "tests/kernels/guarded.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

float half_at(const uint8_t* p, size_t i) {
  uint16_t h;
  std::memcpy(&h, p + 2 * i, 2);
  float v;
  reference().f16_to_f32(&h, 1, &v);
  return v;
}

// One value through attention: the key of channel c at position p is the score of a unit query.
float key_of(size_t bits, const uint8_t* page, size_t head_dim, size_t c, size_t p) {
  std::vector<float> q(head_dim), scores(256), o(head_dim);
  q[c] = 1.0f;
  const void* pages[8] = {page};
  const auto first = static_cast<int32_t>(p), last = first + 1;
  float m = 0, l = 0;
  const AttendArgs a = {q.data(), head_dim, 1, &first,        &last, pages, nullptr,  0,
                        head_dim, 1.0f,     0, scores.data(), &m,    &l,    o.data(), head_dim};
  const Attend attend = bits == 8   ? reference().attend_keys_q8
                        : bits == 6 ? reference().attend_keys_q6
                                    : reference().attend_keys_q4;
  attend(a);
  return m;
}

std::vector<float> values_of(size_t bits, const uint8_t* page, size_t head_dim, size_t p) {
  std::vector<float> scores(256, 1.0f), o(head_dim);
  const void* pages[8] = {page};
  const auto first = static_cast<int32_t>(p), last = first + 1;
  const AttendArgs a = {nullptr,  0,    1, &first,        &last,   nullptr, pages,    0,
                        head_dim, 1.0f, 0, scores.data(), nullptr, nullptr, o.data(), head_dim};
  const Attend attend = bits == 8   ? reference().attend_values_q8
                        : bits == 6 ? reference().attend_values_q6
                                    : reference().attend_values_q4;
  attend(a);
  return o;
}

TEST_CASE("keys are kept to half a step of their channel's range") {
  Random random(7);
  for (const size_t bits : {8, 6, 4}) {
    for (const size_t head_dim : {1, 3, 16, 80}) {
      Guarded<uint16_t> keys(head_dim * 32);
      Guarded<uint8_t> page(KvKeyBytes(bits, head_dim)), want(page.size());
      std::vector<float> x(head_dim * 32);
      for (size_t c = 0; c < head_dim; ++c) {
        const float middle = c % 3 == 0 ? 60.0f : 0.0f, range = c % 5 == 4 ? 0.0f : 1.0f;
        for (size_t p = 0; p < 32; ++p) {
          float v = middle + random.uniform(-range, range);
          reference().f32_to_f16(&v, 1, &keys[c * 32 + p]);
          reference().f16_to_f32(&keys[c * 32 + p], 1, &x[c * 32 + p]);
        }
      }
      selected().pack_keys(bits, keys.data(), head_dim, page.data());
      reference().pack_keys(bits, keys.data(), head_dim, want.data());
      REQUIRE(std::memcmp(page.data(), want.data(), page.size()) == 0);
      const uint8_t* scales = page.data() + KvCodeBytes(bits, head_dim);
      for (size_t c = 0; c < head_dim; ++c) {
        for (size_t p = 0; p < 32; ++p) {
          const float got = key_of(bits, page.data(), head_dim, c, p), v = x[c * 32 + p];
          INFO(bits << " bits, channel " << c << ", position " << p);
          // m is rounded to f16 too, and s may be rounded down.
          const float step = half_at(scales, c) * (bits == 8 ? 1.06f : 1.01f);
          REQUIRE(std::fabs(got - v) <= 0.5f * step + std::fabs(v) * 0.0006f);
        }
      }
    }
  }
}

TEST_CASE("values are kept to a step of their group") {
  Random random(9);
  for (const size_t bits : {8, 6, 4}) {
    for (const size_t head_dim : {1, 32, 64, 80}) {
      Guarded<uint8_t> page(KvValueBytes(bits, head_dim)), want(page.size());
      std::memcpy(want.data(), page.data(), page.size());
      for (const size_t position : {0, 5, 31}) {
        Guarded<float> v(head_dim);
        float amax = 0;
        for (float& x : v) {
          x = position == 5 ? 0.0f : random.uniform(-3.0f, 3.0f);
          amax = std::fmax(amax, std::fabs(x));
        }
        selected().pack_values(bits, v.data(), head_dim, position, page.data());
        reference().pack_values(bits, v.data(), head_dim, position, want.data());
        REQUIRE(std::memcmp(page.data(), want.data(), page.size()) == 0);
        const std::vector<float> got = values_of(bits, page.data(), head_dim, position);
        const float step = amax / static_cast<float>(bits == 8 ? 127 : 1 << (bits - 1));
        for (size_t c = 0; c < head_dim; ++c) REQUIRE(std::fabs(got[c] - v[c]) <= step * 1.01f);
      }
    }
  }
}

TEST_CASE("whatever comes in becomes a defined code") {
  Random random(11);
  for (const size_t bits : {8, 6, 4}) {
    Guarded<uint16_t> keys(64);
    Guarded<float> v(48);
    for (uint16_t& key : keys) key = static_cast<uint16_t>(random.bits());  // infinity and NaN too
    for (float& x : v) x = random.odd();
    v[3] = std::nanf("");
    v[40] = INFINITY;
    Guarded<uint8_t> k(KvKeyBytes(bits, 2)), k_want(k.size());
    Guarded<uint8_t> page(KvValueBytes(bits, 48)), want(page.size());
    selected().pack_keys(bits, keys.data(), 2, k.data());
    reference().pack_keys(bits, keys.data(), 2, k_want.data());
    REQUIRE(std::memcmp(k.data(), k_want.data(), KvCodeBytes(bits, 2)) == 0);
    selected().pack_values(bits, v.data(), 48, 7, page.data());
    reference().pack_values(bits, v.data(), 48, 7, want.data());
    REQUIRE(std::memcmp(page.data(), want.data(), KvCodeBytes(bits, 64)) == 0);
  }
}

TEST_CASE("the rotation is Walsh and Hadamard's matrix over its norm") {
  Random random(13);
  for (const size_t head_dim : {1, 2, 24, 64, 80, 128}) {
    const size_t n = head_dim & (~head_dim + 1);
    Guarded<float> x(head_dim), got(head_dim), want(head_dim);
    for (size_t i = 0; i < head_dim; ++i) x[i] = got[i] = want[i] = random.uniform(-2.0f, 2.0f);
    selected().hadamard(got.data(), head_dim);
    reference().hadamard(want.data(), head_dim);
    REQUIRE(first_difference(got.data(), want.data(), head_dim) == head_dim);
    for (size_t i = 0; i < head_dim; ++i) {
      double sum = 0;
      for (size_t j = 0; j < n; ++j) {
        const bool minus = __builtin_parityll(i % n & j) != 0;
        sum += (minus ? -1.0 : 1.0) * x[i / n * n + j];
      }
      REQUIRE(std::fabs(got[i] - sum / std::sqrt(static_cast<double>(n))) <= 1e-5);
    }
    selected().hadamard(got.data(), head_dim);
    for (size_t i = 0; i < head_dim; ++i) REQUIRE(std::fabs(got[i] - x[i]) <= 1e-6 * 10);
  }
}

}  // namespace
}  // namespace krafla

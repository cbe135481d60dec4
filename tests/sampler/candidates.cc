// Selection against a full sort, over sizes around every internal threshold, with many equal
// values.
#include "lib/sampler/candidates.h"

#include <limits>

#include "tests/support/catch.h"

namespace krafla {
namespace {

struct Input {
  std::vector<float> logits;
  std::vector<Candidate> sorted;
  float max;
};

Input MakeInput(size_t n, uint32_t distinct) {
  Input input;
  uint64_t state = n;
  for (size_t i = 0; i < n; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    const uint32_t level = static_cast<uint32_t>(state >> 33) % distinct;
    const bool masked = i > 0 && level % 7 == 3;
    input.logits.push_back(masked ? -std::numeric_limits<float>::infinity()
                                  : static_cast<float>(level) - 5);
    if (!masked) input.sorted.push_back({input.logits.back(), static_cast<int32_t>(i), 0});
  }
  std::stable_sort(input.sorted.begin(), input.sorted.end(),
                   [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
  input.max = static_cast<float>(input.sorted[0].value);
  return input;
}

bool Equal(std::span<const Candidate> got, const std::vector<Candidate>& want, size_t n) {
  if (got.size() != n) return false;
  for (size_t i = 0; i < n; ++i) {
    if (got[i].id != want[i].id || got[i].value != want[i].value) return false;
  }
  return true;
}

TEST_CASE("the best k, listed before or not") {
  for (const size_t n : {1, 2, 17, 300, 5000}) {
    for (const uint32_t distinct : {1u, 10u, 100000u}) {
      const Input input = MakeInput(n, distinct);
      for (const size_t k : {1, 2, 16, 64, 1024, 1025, 3000}) {
        if (k >= input.sorted.size()) continue;
        INFO(n << " tokens of " << distinct << " values, k " << k);
        Candidates c;
        c.Reset(input.logits, input.max);
        c.KeepBest(k);
        CHECK(Equal(c.items(), input.sorted, k));
        CHECK(c.Max() == input.max);
        c.Reset(input.logits, input.max);
        c.items();
        c.KeepBest(k);
        CHECK(Equal(c.items(), input.sorted, k));
        c.KeepBest((k + 1) / 2);
        CHECK(Equal(c.items(), input.sorted, (k + 1) / 2));
      }
    }
  }
}

TEST_CASE("taking from the best on") {
  const Input input = MakeInput(5000, 1000);
  for (const size_t n : {1, 63, 64, 65, 319, 320, 321, 1600, 1601, 4000}) {
    INFO(n);
    for (const bool sorted_before : {false, true}) {
      Candidates c;
      c.Reset(input.logits, input.max);
      if (sorted_before) c.KeepBest(input.sorted.size() - 1);
      size_t seen = 0;
      c.KeepThrough([&seen, n](const Candidate&) { return ++seen == n; });
      CHECK(Equal(c.items(), input.sorted, n));
    }
  }
  Candidates c;
  c.Reset(input.logits, input.max);
  c.KeepThrough([](const Candidate&) { return false; });
  CHECK(Equal(c.items(), input.sorted, input.sorted.size()));
}

TEST_CASE("a limit keeps the order there is") {
  const float logits[] = {3, -1, 4, 1, -5, 9};
  Candidates c;
  c.Reset(logits, 9);
  c.KeepAtLeast(1);
  CHECK(Equal(c.items(), {{3, 0, 0}, {4, 2, 0}, {1, 3, 0}, {9, 5, 0}}, 4));
  c.KeepBest(3);
  c.KeepAtLeast(4);
  CHECK(Equal(c.items(), {{9, 5, 0}, {4, 2, 0}}, 2));
  c.items()[0].value = 4;
  c.ValuesChanged();
  CHECK(Equal(c.items(), {{4, 2, 0}, {4, 5, 0}}, 2));
}

}  // namespace
}  // namespace krafla

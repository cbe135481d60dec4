// How long a draft pays, from costs and chances that are set here.
#include "lib/batch/payoff.h"

#include <vector>

#include "tests/support/catch.h"

namespace krafla {
namespace {

Payoff Measured(double row_cost, double chance) {
  Payoff payoff({0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5});
  payoff.Passed(1, 1000);
  for (int i = 0; i < 100; ++i) payoff.Passed(5, 1000 * (1 + 4 * row_cost));
  for (int i = 0; i < 1000; ++i) payoff.Judge(3, i % 100 < 100 * chance);
  return payoff;
}

size_t Best(const Payoff& payoff) { return payoff.Best(std::vector<uint8_t>(15, 3)); }

TEST_CASE("cheap rows and sure tokens make long drafts, dear and unsure ones none") {
  CHECK(Best(Measured(0.05, 1)) == 15);
  CHECK(Best(Measured(0.5, 1)) == 15);
  CHECK(Best(Measured(0.3, 0.2)) == 0);
  CHECK(Best(Measured(0.9, 0.8)) == 0);
  const size_t some = Best(Measured(0.1, 0.7));
  CHECK(some >= 2);
  CHECK(some <= 8);
}

TEST_CASE("a slow pass now and then changes little, and a cost that was wrong is forgotten") {
  Payoff payoff = Measured(0.1, 0.9);
  const double before = payoff.row_cost();
  for (int i = 0; i < 100; ++i) payoff.Passed(1, i % 10 == 0 ? 5000 : 1000);
  payoff.Passed(5, 1400);
  CHECK(payoff.row_cost() < before * 2);
  payoff.Passed(5, 100000);
  CHECK(payoff.row_cost() <= 2);
  const double wrong = payoff.row_cost();
  for (int i = 0; i < 1000; ++i) payoff.Passed(1, 1000);
  CHECK(payoff.row_cost() < wrong);
  CHECK(payoff.row_cost() < 0.35);
}

TEST_CASE("chances follow the text") {
  Payoff payoff = Measured(0.2, 1);
  CHECK(payoff.chance(3) > 0.95);
  for (int i = 0; i < 150; ++i) payoff.Judge(3, false);
  CHECK(payoff.chance(3) < 0.25);
  CHECK(Best(payoff) == 0);
  CHECK(payoff.chance(2) == 0.5);
}

}  // namespace
}  // namespace krafla

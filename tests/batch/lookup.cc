// Matches by lookup against the plainest search, and what follows them.
#include "lib/batch/lookup.h"

#include <vector>

#include "tests/support/catch.h"

namespace krafla {
namespace {

// Every place, every length.
Match Slow(std::span<const int32_t> read, int32_t next) {
  std::vector<int32_t> text(read.begin(), read.end());
  text.push_back(next);
  Match best;
  for (size_t at = 1; at < text.size(); ++at) {
    size_t length = 0;
    while (length < std::min(at, kLongestMatch) &&
           text[at - 1 - length] == text[text.size() - 1 - length]) {
      ++length;
    }
    if (length > 0 && length >= best.length) best = {at, length};
  }
  return best;
}

TEST_CASE("the longest match, of equal ones the last") {
  uint32_t seed = 1;
  for (const uint32_t n_ids : {1U, 2U, 3U, 20U}) {
    for (size_t n = 0; n < 80; ++n) {
      std::vector<int32_t> text(n + 1);
      for (int32_t& id : text) {
        seed = seed * 1664525 + 1013904223;
        id = static_cast<int32_t>((seed >> 8) % n_ids);
      }
      const std::span<const int32_t> read(text.data(), n);
      const Match fast = FindMatch(read, text[n]);
      const Match slow = Slow(read, text[n]);
      REQUIRE(fast.length == slow.length);
      if (slow.length > 0) REQUIRE(fast.at == slow.at);
    }
  }
}

TEST_CASE("a match goes on as the text did, and over its end as a period") {
  const std::vector<int32_t> read = {1, 2, 3, 4, 9, 2};
  std::vector<int32_t> out(8);
  const Match match = FindMatch(read, 3);
  CHECK(match.at == 3);
  CHECK(match.length == 2);
  Continue(read, 3, match, out);
  CHECK(out == std::vector<int32_t>{4, 9, 2, 3, 4, 9, 2, 3});
  const std::vector<int32_t> one = {7};
  Continue(one, 7, FindMatch(one, 7), out);
  CHECK(out == std::vector<int32_t>(8, 7));
  CHECK(FindMatch({}, 7).length == 0);
}

}  // namespace
}  // namespace krafla

// dry: "don't repeat yourself" (p-e-w 2024). If the last L >= allowed_length tokens have been there
// before, the token that came after them then becomes less likely by
//   multiplier * base ^ (L - allowed_length),
// with the longest L of each token. A match never reaches over a sequence breaker, and tokens that
// hold one are not penalised: what a text repeats by its form (line ends, names in a dialogue) is
// no repetition. Only the last `last_n` tokens are looked at (-1: all, 0: none); multiplier 0 is no
// effect.
#include <algorithm>
#include <vector>

#include "lib/base/math.h"
#include "lib/sampler/stage.h"

namespace krafla {
namespace {

// Far above any logit and far below overflow.
constexpr double kLargest = 1e300;

class Dry final : public Stage {
 public:
  Status Apply(const StageInput& in, Candidates* candidates) override {
    const double multiplier = in.params[0], base = in.params[1];
    const std::span<const int32_t> history = LastOf(in.history, in.params[3]);
    const size_t n = history.size();
    if (multiplier == 0 || static_cast<double>(n) <= in.params[2]) return OkStatus();
    const auto allowed = static_cast<size_t>(in.params[2]);
    const size_t longest = SinceBreak(in.breaks, n);
    if (longest < allowed) return OkStatus();
    MatchSuffixes(history);

    const size_t vocab_size = candidates->vocab_size();
    if (lengths_.size() < vocab_size) lengths_.resize(vocab_size, 0);
    const std::span<Candidate> items = candidates->items();
    // Token n - 1 - i of the history, counted from its end, comes after a match of matches_[i + 1].
    for (size_t i = 0; i + 1 < n; ++i) {
      const auto id = static_cast<size_t>(history[n - 1 - i]);
      if (id >= vocab_size || (id < in.breaking.size() && in.breaking[id] != 0)) continue;
      const size_t length = std::min<size_t>(matches_[i + 1], longest);
      if (length >= allowed) lengths_[id] = std::max(lengths_[id], static_cast<uint32_t>(length));
    }
    for (Candidate& c : items) {
      const uint32_t length = lengths_[static_cast<size_t>(c.id)];
      if (length == 0) continue;
      const double penalty = multiplier * Pow(base, static_cast<double>(length - allowed));
      c.value -= std::min(penalty, kLargest);
    }
    for (const int32_t id : history) {
      if (static_cast<size_t>(id) < vocab_size) lengths_[static_cast<size_t>(id)] = 0;
    }
    candidates->ValuesChanged();
    return OkStatus();
  }

  void ReserveHistory(size_t n) override { matches_.reserve(n); }

 private:
  // How many of the last n tokens come after the last breaker.
  static size_t SinceBreak(std::span<const uint8_t> breaks, size_t n) {
    for (size_t i = 0; i < std::min(n, breaks.size()); ++i) {
      if (breaks[breaks.size() - 1 - i] != 0) return i;
    }
    return n;
  }

  // matches_[i]: how many tokens, backwards, the history without its last i has in common with the
  // whole of it. The Z algorithm, from the end: linear time.
  void MatchSuffixes(std::span<const int32_t> history) {
    const size_t n = history.size();
    const auto at = [&](size_t i) { return history[n - 1 - i]; };
    matches_.assign(n, 0);
    size_t begin = 0, end = 0;  // the match that reaches furthest
    for (size_t i = 1; i < n; ++i) {
      size_t length = i < end ? std::min<size_t>(matches_[i - begin], end - i) : 0;
      while (i + length < n && at(length) == at(i + length)) ++length;
      matches_[i] = static_cast<uint32_t>(length);
      if (i + length > end) {
        begin = i;
        end = i + length;
      }
    }
  }

  std::vector<uint32_t> matches_;
  std::vector<uint32_t> lengths_;  // by id; all zero between calls
};

}  // namespace

std::unique_ptr<Stage> CreateDry() { return std::make_unique<Dry>(); }

}  // namespace krafla

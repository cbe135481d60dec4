// The texts of a set of numbers, as an automaton over characters. A bound is compared digit by
// digit: a state knows how many digits were read and how they stand to those of each bound.
#include <algorithm>
#include <map>
#include <tuple>

#include "lib/constraint/number_set.h"
#include "lib/constraint/regex.h"

namespace krafla {
namespace {

constexpr int kMostDigits = 20;
// With bounds: a double tells numbers of 15 digits apart, so a reader that rounds to one keeps what
// was compared here.
constexpr int kExactDigits = 15;

struct Form {
  bool whole;          // may be without a point
  bool point;          // may have one
  bool zeros_only;     // behind it
  bool not_all_zeros;  // behind it
};

// Texts of the numbers of an interval whose sign is `negative`, for magnitudes in [low, high].
class Digits {
 public:
  Digits(const Interval& magnitudes, bool negative, const Form& form)
      : low_(magnitudes), form_(form), negative_(negative), dfa_(Classes()) {
    bounded_ = magnitudes.high.has_value() || magnitudes.low.has_value();
    most_whole_ = kMostDigits;
    if (low_.low) most_whole_ = std::max(most_whole_, Size(low_.low->whole()) + 1);
    if (low_.high) most_whole_ = std::min(most_whole_, Size(low_.high->whole()));
  }

  CharDfa Run() {
    std::vector<State> states;
    const auto visit = [&](const State& state) {
      const auto [it, added] = known_.try_emplace(Key(state), dfa_.n_states());
      if (added) {
        states.push_back(state);
        dfa_.AddState(Accepts(state));
      }
      return static_cast<int32_t>(it->second);
    };
    visit(State{});
    for (uint32_t i = 0; i < states.size(); ++i) {
      for (char c : std::string_view("0123456789.-")) {
        State next = states[i];
        if (!Step(c, &next)) continue;
        const int32_t to = visit(next);
        dfa_.SetNext(i, dfa_.classes().ClassOf(static_cast<uint8_t>(c)), to);
      }
    }
    dfa_.Trim();
    return std::move(dfa_);
  }

 private:
  struct State {
    int phase = 0;   // 0: begin, 1: behind -, 2: before the point, 3: behind it
    int whole = 0;   // digits before the point
    int behind = 0;  // and behind it
    int to_low = 0;  // how the digits so far stand to those of the bound: -1, 0, 1
    int to_high = 0;
    bool zero = false;     // the first digit was 0
    bool nonzero = false;  // a digit behind the point is none
  };
  static std::tuple<int, int, int, int, int, bool, bool> Key(const State& s) {
    return {s.phase, s.whole, s.behind, s.to_low, s.to_high, s.zero, s.nonzero};
  }
  static int Size(const std::string& digits) { return static_cast<int>(digits.size()); }

  static CharClasses Classes() {
    std::vector<CodePointSet> sets;
    for (char c : std::string_view("0123456789.-")) {
      sets.push_back({{static_cast<uint8_t>(c), static_cast<uint8_t>(c)}});
    }
    return CharClasses::Of(sets);
  }

  static void Follow(const std::string& digits, int at, char c, int* order) {
    if (*order != 0) return;
    const char bound = at < Size(digits) ? digits[static_cast<size_t>(at)] : '0';
    *order = c < bound ? -1 : c > bound ? 1 : 0;
  }

  bool Step(char c, State* s) const {
    if (c == '-') {
      if (s->phase != 0 || !negative_) return false;
      s->phase = 1;
      return true;
    }
    if (c == '.') {
      if (s->phase != 2 || !form_.point) return false;
      Settle(low_.low, s->whole, &s->to_low);
      Settle(low_.high, s->whole, &s->to_high);
      s->phase = 3;
      if (!bounded_) s->whole = 1;  // no longer of interest
      return true;
    }
    if (s->phase == 0 && negative_) return false;
    if (s->phase < 3) {
      if (s->zero || s->whole >= most_whole_) return false;
      s->zero = c == '0' && s->whole == 0;
      if (low_.low) Follow(low_.low->whole(), s->whole, c, &s->to_low);
      if (low_.high) Follow(low_.high->whole(), s->whole, c, &s->to_high);
      s->phase = 2;
      ++s->whole;
      return true;
    }
    if (form_.zeros_only && c != '0') return false;
    const int most = bounded_ ? std::max(kExactDigits - s->whole, 1) : kMostDigits;
    const int of_bounds = std::max(low_.low ? Size(low_.low->fraction()) : 0,
                                   low_.high ? Size(low_.high->fraction()) : 0);
    if (s->behind >= std::max(most, std::min(of_bounds, kMostDigits))) return false;
    if (low_.low) Follow(low_.low->fraction(), s->behind, c, &s->to_low);
    if (low_.high) Follow(low_.high->fraction(), s->behind, c, &s->to_high);
    s->nonzero |= c != '0';
    ++s->behind;
    return true;
  }

  // The digits before the point are all there: their number decides first.
  static void Settle(const std::optional<Decimal>& bound, int whole, int* order) {
    if (!bound) return;
    const int size = Size(bound->whole());
    if (whole != size) *order = whole < size ? -1 : 1;
  }

  // How the number that ends here stands to the bound.
  static int Order(const std::optional<Decimal>& bound, const State& s, int order) {
    if (s.phase == 2) Settle(bound, s.whole, &order);
    if (order != 0) return order;
    const std::string& fraction = bound->fraction();
    return Size(fraction) > s.behind &&
                   fraction.find_first_not_of('0', static_cast<size_t>(s.behind)) != fraction.npos
               ? -1
               : 0;
  }

  bool Accepts(const State& s) const {
    if (s.phase < 2 || (s.phase == 2 && !form_.whole)) return false;
    if (s.phase == 3 && (s.behind == 0 || (form_.not_all_zeros && !s.nonzero))) return false;
    // -0 is written only with a point.
    if (negative_ && s.phase == 2 && s.zero) return false;
    if (low_.low) {
      const int order = Order(low_.low, s, s.to_low);
      if (order < 0 || (order == 0 && low_.low_open)) return false;
    }
    if (low_.high) {
      const int order = Order(low_.high, s, s.to_high);
      if (order > 0 || (order == 0 && low_.high_open)) return false;
    }
    return true;
  }

  const Interval& low_;  // of magnitudes: both ends
  const Form form_;
  const bool negative_;
  CharDfa dfa_;
  std::map<std::tuple<int, int, int, int, int, bool, bool>, uint32_t> known_;
  bool bounded_;
  int most_whole_;
};

StatusOr<CharDfa> AddTexts(CharDfa all, const Interval& i, const Form& form) {
  const Decimal zero;
  // The numbers >= 0 of the interval, and the magnitudes of those <= 0.
  for (const bool negative : {false, true}) {
    Interval part;
    if (negative) {
      if (i.high) part.low = i.high->Negated();
      if (i.low) part.high = i.low->Negated();
      part.low_open = i.high_open;
      part.high_open = i.low_open;
    } else {
      part = i;
    }
    if (part.low && Decimal::Compare(*part.low, zero) < 0) {
      part.low.reset();
      part.low_open = false;
    }
    if (part.high) {
      const int order = Decimal::Compare(*part.high, zero);
      if (order < 0 || (order == 0 && part.high_open)) continue;
    }
    if (part.low && part.low->zero() && !part.low_open) part.low.reset();
    KRAFLA_ASSIGN_OR_RETURN(all, CharDfa::Union(all, Digits(part, negative, form).Run()));
  }
  return all;
}

bool IsWholeLine(const Intervals& intervals) {
  return intervals.size() == 1 && !intervals[0].low && !intervals[0].high;
}

// Multiples of m by the remainder of the digits so far.
CharDfa Multiples(uint32_t m) {
  std::vector<CodePointSet> sets;
  for (uint32_t c : {'-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'})
    sets.push_back({{c, c}});
  CharDfa out(CharClasses::Of(sets));
  out.AddState(false);
  out.AddState(false);  // behind -
  for (uint32_t r = 0; r < m; ++r) out.AddState(r == 0);
  out.SetNext(0, out.classes().ClassOf('-'), 1);
  for (uint32_t s = 0; s < m + 2; ++s) {
    const uint32_t r = s < 2 ? 0 : s - 2;
    for (uint32_t d = 0; d < 10; ++d) {
      out.SetNext(s, out.classes().ClassOf('0' + d), static_cast<int32_t>((r * 10 + d) % m + 2));
    }
  }
  return out;
}

}  // namespace

StatusOr<CharDfa> NumberTexts(const NumberSet& set) {
  if (IsWholeLine(set.integers) && IsWholeLine(set.fractions)) {
    return RegexDfa(
        "-?(0|[1-9]\\d{0,19})(\\.\\d{1,20})?|-?[1-9](\\.\\d{1,20})?[eE][+-]?([1-9]?\\d|0\\d|[12]"
        "\\d\\d|30[0-7])"
        "|-?1[eE]\\+?308",
        RegexMatch::kWhole);
  }
  CharDfa all;
  for (const Interval& i : set.integers) {
    const bool zeros = !set.fractions.empty();
    KRAFLA_ASSIGN_OR_RETURN(all, AddTexts(std::move(all), i, {true, zeros, true, false}));
  }
  for (const Interval& i : set.fractions) {
    KRAFLA_ASSIGN_OR_RETURN(all, AddTexts(std::move(all), i, {false, true, false, true}));
  }
  if (set.multiple > 1) return CharDfa::Intersect(all, Multiples(set.multiple));
  return all;
}

}  // namespace krafla

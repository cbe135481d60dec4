// A deterministic automaton over characters (Unicode scalar values): a set of strings that can be
// intersected and complemented. Patterns, formats, enumerated strings and names of properties are
// such sets; the byte automaton is made from them at the end (automaton.h).
#ifndef KRAFLA_LIB_CONSTRAINT_CHAR_DFA_H_
#define KRAFLA_LIB_CONSTRAINT_CHAR_DFA_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/code_points.h"

namespace krafla {

// The characters in intervals that an automaton does not tell apart: interval i begins at
// starts[i] (starts[0] is 0) and has class classes[i].
struct CharClasses {
  std::vector<uint32_t> starts, classes;
  uint32_t n_classes = 0;

  // The coarsest partition that tells each of the sets apart from its complement.
  static CharClasses Of(std::span<const CodePointSet> sets);
  uint32_t ClassOf(uint32_t code_point) const;
  std::vector<CodePointSet> Sets() const;  // of each class, without surrogates
};

class CharDfa {
 public:
  static constexpr int32_t kDead = -1;  // the state that no string leaves alive
  static constexpr uint32_t kMaxStates = 20000;
  static constexpr uint32_t kMaxCells = 1u << 21;  // states times classes

  CharDfa() = default;  // no string at all
  static CharDfa All();
  static CharDfa Lengths(uint32_t min, uint32_t max);  // in characters; max <= kMaxStates - 2

  // UnsupportedError where the result is larger than kMaxStates or kMaxCells.
  static StatusOr<CharDfa> FromStrings(std::span<const std::string> texts);  // UTF-8
  static StatusOr<CharDfa> Intersect(const CharDfa& a, const CharDfa& b);
  static StatusOr<CharDfa> Union(const CharDfa& a, const CharDfa& b);
  static StatusOr<CharDfa> Minus(const CharDfa& a, const CharDfa& b);

  bool empty() const { return accepting_.empty(); }
  bool IsAll() const;  // known to have every string; false may also mean "not known"
  bool Matches(std::string_view text) const;

  // State 0 is the start.
  uint32_t n_states() const { return static_cast<uint32_t>(accepting_.size()); }
  const CharClasses& classes() const { return classes_; }
  bool accepting(uint32_t state) const { return accepting_[state] != 0; }
  int32_t Next(uint32_t state, uint32_t cls) const {
    return table_[size_t{state} * classes_.n_classes + cls];
  }

  // For builders: a new state without a way out, then its ways, then Trim.
  explicit CharDfa(CharClasses classes) : classes_(std::move(classes)) {}
  uint32_t AddState(bool accepting);
  Status CheckSize() const;
  void SetNext(uint32_t state, uint32_t cls, int32_t next) {
    table_[size_t{state} * classes_.n_classes + cls] = next;
  }
  // Drops states from which no string is accepted; without any string left the automaton is empty.
  void Trim();

 private:
  template <typename Accepts>
  static StatusOr<CharDfa> Combine(const CharDfa& a, const CharDfa& b, Accepts accepts);

  CharClasses classes_;
  std::vector<int32_t> table_;  // [n_states][n_classes]
  std::vector<uint8_t> accepting_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CHAR_DFA_H_

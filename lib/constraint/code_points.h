// Sets of Unicode scalar values as sorted ranges: what a character class of a regular expression,
// of a grammar, or an edge of an automaton over characters stands for.
#ifndef KRAFLA_LIB_CONSTRAINT_CODE_POINTS_H_
#define KRAFLA_LIB_CONSTRAINT_CODE_POINTS_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace krafla {

inline constexpr uint32_t kMaxCodePoint = 0x10FFFF;

struct CodePointRange {
  uint32_t first, last;
};

class CodePointSet {
 public:
  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges);
  static CodePointSet All() { return {{0, 0xD7FF}, {0xE000, kMaxCodePoint}}; }

  void Add(uint32_t first, uint32_t last);
  void Add(const CodePointSet& other);
  CodePointSet Complement() const;  // within All()
  CodePointSet Intersect(const CodePointSet& other) const;

  bool empty() const { return ranges_.empty(); }
  // Ascending, disjoint, not adjacent, without surrogates.
  std::span<const CodePointRange> ranges() const { return ranges_; }

 private:
  std::vector<CodePointRange> ranges_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CODE_POINTS_H_

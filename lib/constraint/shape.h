// What a schema allows, by type: the scalars as sets that can be intersected, united and
// complemented, arrays and objects as lists of alternatives. A part of an array or object is not a
// shape again but a list of references to schemas that it must satisfy all (Parts), so that
// recursive schemas are finite.
#ifndef KRAFLA_LIB_CONSTRAINT_SHAPE_H_
#define KRAFLA_LIB_CONSTRAINT_SHAPE_H_

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/char_dfa.h"
#include "lib/constraint/grammar.h"
#include "lib/constraint/number_set.h"

namespace krafla {

struct SchemaRef {
  uint32_t node = 0;  // of the JSON text
  enum Use : uint8_t { kSchema, kNotSchema, kValue } use = kSchema;

  friend auto operator<=>(const SchemaRef&, const SchemaRef&) = default;
};
using Parts = std::vector<SchemaRef>;  // ascending; none: anything
Parts Join(const Parts& a, const Parts& b);

struct StringShape {
  std::shared_ptr<const CharDfa> strings;  // none: all
  uint32_t min = 0, max = kUnbounded;      // characters
};

struct ArrayShape {
  std::vector<Parts> prefix;
  bool open = true;  // more items than the prefix, each as `rest`
  Parts rest;
  uint32_t min = 0, max = kUnbounded;
  bool unique = false;

  bool Has(size_t i) const { return i < prefix.size() || open; }
  const Parts& At(size_t i) const { return i < prefix.size() ? prefix[i] : rest; }
};

struct ObjectShape {
  struct Named {
    std::string key;
    Parts value;
    bool required = false;
    bool forbidden = false;
  };
  struct Others {                         // keys that are not named
    std::shared_ptr<const CharDfa> keys;  // none: all
    Parts value;
  };
  std::vector<Named> named;
  std::vector<Others> others;  // apart from one another
  uint32_t min = 0, max = kUnbounded;

  const Named* Find(const std::string& key) const;
  // What holds of a key, named or not.
  Named At(const std::string& key) const;
};

struct Shape {
  bool null = false, yes = false, no = false;
  NumberSet numbers;
  std::vector<StringShape> strings;
  std::vector<ArrayShape> arrays;
  std::vector<ObjectShape> objects;

  static Shape Anything();
  bool has_scalars() const { return null || yes || no || !numbers.empty() || !strings.empty(); }
};

// UnsupportedError: what the result would need is not built, or is larger than the limits.
StatusOr<Shape> Intersect(const Shape& a, const Shape& b);
StatusOr<Shape> Union(Shape a, const Shape& b);
StatusOr<Shape> Complement(const Shape& a);
// One automaton for an alternative of strings, its lengths included.
StatusOr<CharDfa> StringsOf(const StringShape& shape);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_SHAPE_H_

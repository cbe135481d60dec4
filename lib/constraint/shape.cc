// See shape.h.
#include "lib/constraint/shape.h"

#include <algorithm>
#include <utility>

namespace krafla {
namespace {

constexpr size_t kMaxAlternatives = 512;
constexpr size_t kMaxOthers = 64;
constexpr uint32_t kMaxCountedLength = 4000;  // of strings, where lengths become states

Status CheckAlternatives(const Shape& shape) {
  if (shape.arrays.size() <= kMaxAlternatives && shape.objects.size() <= kMaxAlternatives &&
      shape.strings.size() <= kMaxAlternatives) {
    return OkStatus();
  }
  return UnsupportedError("more than {} alternatives of one type", kMaxAlternatives);
}

StatusOr<StringShape> Intersect(const StringShape& a, const StringShape& b) {
  StringShape out{a.strings ? a.strings : b.strings, std::max(a.min, b.min),
                  std::min(a.max, b.max)};
  if (a.strings && b.strings && a.strings != b.strings) {
    KRAFLA_ASSIGN_OR_RETURN(CharDfa both, CharDfa::Intersect(*a.strings, *b.strings));
    out.strings = std::make_shared<CharDfa>(std::move(both));
  }
  return out;
}

bool IsEmpty(const StringShape& s) {
  return s.min > s.max || (s.strings != nullptr && s.strings->empty());
}

ArrayShape Intersect(const ArrayShape& a, const ArrayShape& b) {
  ArrayShape out;
  out.min = std::max(a.min, b.min);
  out.max = std::min(a.max, b.max);
  out.unique = a.unique || b.unique;
  out.open = a.open && b.open;
  const size_t n = std::max(a.prefix.size(), b.prefix.size());
  for (size_t i = 0; i < n; ++i) {
    if (!a.Has(i) || !b.Has(i)) {
      out.open = false;
      break;
    }
    out.prefix.push_back(Join(a.At(i), b.At(i)));
  }
  if (out.open) out.rest = Join(a.rest, b.rest);
  if (!out.open) out.max = std::min(out.max, static_cast<uint32_t>(out.prefix.size()));
  return out;
}

StatusOr<ObjectShape> Intersect(const ObjectShape& a, const ObjectShape& b) {
  ObjectShape out;
  out.min = std::max(a.min, b.min);
  out.max = std::min(a.max, b.max);
  const auto add = [&out](const ObjectShape::Named& x, const ObjectShape::Named& y) {
    out.named.push_back(
        {x.key, Join(x.value, y.value), x.required || y.required, x.forbidden || y.forbidden});
  };
  for (const ObjectShape::Named& named : a.named) add(named, b.At(named.key));
  for (const ObjectShape::Named& named : b.named) {
    if (a.Find(named.key) == nullptr) add(named, a.At(named.key));
  }
  for (const ObjectShape::Others& x : a.others) {
    for (const ObjectShape::Others& y : b.others) {
      std::shared_ptr<const CharDfa> keys = x.keys ? x.keys : y.keys;
      if (x.keys && y.keys && x.keys != y.keys) {
        KRAFLA_ASSIGN_OR_RETURN(CharDfa both, CharDfa::Intersect(*x.keys, *y.keys));
        keys = std::make_shared<CharDfa>(std::move(both));
      }
      if (keys && keys->empty()) continue;
      out.others.push_back({std::move(keys), Join(x.value, y.value)});
    }
  }
  if (out.others.size() > kMaxOthers)
    return UnsupportedError("more than {} kinds of keys", kMaxOthers);
  return out;
}

// Whether some key or number of items is plainly impossible.
bool IsEmpty(const ObjectShape& o) {
  size_t required = 0, possible = 0;
  for (const ObjectShape::Named& named : o.named) {
    if (named.required && named.forbidden) return true;
    required += named.required ? 1 : 0;
    possible += named.forbidden ? 0 : 1;
  }
  return o.min > o.max || required > o.max || (o.others.empty() && possible < o.min);
}

bool IsEmpty(const ArrayShape& a) { return a.min > a.max; }

SchemaRef Negated(SchemaRef ref) {
  ref.use = ref.use == SchemaRef::kSchema ? SchemaRef::kNotSchema : SchemaRef::kSchema;
  return ref;
}

StatusOr<std::vector<ArrayShape>> Complement(const ArrayShape& a) {
  std::vector<ArrayShape> out;
  if (a.unique) return UnsupportedError("the negation of uniqueItems");
  if (a.min > 0) {
    out.emplace_back();
    out.back().max = a.min - 1;
  }
  const uint32_t max = a.open ? a.max : std::min(a.max, static_cast<uint32_t>(a.prefix.size()));
  if (max != kUnbounded) {
    out.emplace_back();
    out.back().min = max + 1;
  }
  if (a.open && !a.rest.empty()) return UnsupportedError("the negation of items");
  for (size_t i = 0; i < a.prefix.size(); ++i) {
    for (const SchemaRef& ref : a.prefix[i]) {
      if (ref.use == SchemaRef::kValue) return UnsupportedError("the negation of an array's value");
      ArrayShape one;
      one.prefix.resize(i);
      one.prefix.push_back({Negated(ref)});
      one.min = static_cast<uint32_t>(i + 1);
      out.push_back(std::move(one));
    }
  }
  return out;
}

ObjectShape AnyObject() {
  ObjectShape out;
  out.others.emplace_back();
  return out;
}

StatusOr<std::vector<ObjectShape>> Complement(const ObjectShape& o) {
  std::vector<ObjectShape> out;
  if (o.min > 0) {
    out.push_back(AnyObject());
    out.back().max = o.min - 1;
  }
  if (o.max != kUnbounded) {
    out.push_back(AnyObject());
    out.back().min = o.max + 1;
  }
  for (const ObjectShape::Named& named : o.named) {
    if (named.required) {
      out.push_back(AnyObject());
      out.back().named.push_back({named.key, {}, false, true});
    }
    if (named.forbidden) {
      out.push_back(AnyObject());
      out.back().named.push_back({named.key, {}, true, false});
      continue;
    }
    for (const SchemaRef& ref : named.value) {
      if (ref.use == SchemaRef::kValue)
        return UnsupportedError("the negation of an object's value");
      out.push_back(AnyObject());
      out.back().named.push_back({named.key, {Negated(ref)}, true, false});
    }
  }
  const bool open = o.others.size() == 1 && !o.others[0].keys && o.others[0].value.empty();
  if (!open) return UnsupportedError("the negation of additionalProperties or patternProperties");
  return out;
}

}  // namespace

Parts Join(const Parts& a, const Parts& b) {
  Parts out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

const ObjectShape::Named* ObjectShape::Find(const std::string& key) const {
  for (const Named& n : named) {
    if (n.key == key) return &n;
  }
  return nullptr;
}

ObjectShape::Named ObjectShape::At(const std::string& key) const {
  if (const Named* found = Find(key)) return *found;
  for (const Others& other : others) {
    if (!other.keys || other.keys->Matches(key)) return {key, other.value, false, false};
  }
  return {key, {}, false, true};
}

Shape Shape::Anything() {
  Shape out;
  out.null = out.yes = out.no = true;
  out.numbers = NumberSet::All();
  out.strings.emplace_back();
  out.arrays.emplace_back();
  out.objects.push_back(AnyObject());
  return out;
}

StatusOr<Shape> Intersect(const Shape& a, const Shape& b) {
  Shape out;
  out.null = a.null && b.null;
  out.yes = a.yes && b.yes;
  out.no = a.no && b.no;
  KRAFLA_ASSIGN_OR_RETURN(out.numbers, Intersect(a.numbers, b.numbers));
  if (a.strings.size() * b.strings.size() > kMaxAlternatives ||
      a.arrays.size() * b.arrays.size() > kMaxAlternatives ||
      a.objects.size() * b.objects.size() > kMaxAlternatives) {
    return UnsupportedError("more than {} alternatives of one type", kMaxAlternatives);
  }
  for (const StringShape& x : a.strings) {
    for (const StringShape& y : b.strings) {
      KRAFLA_ASSIGN_OR_RETURN(StringShape both, Intersect(x, y));
      if (!IsEmpty(both)) out.strings.push_back(std::move(both));
    }
  }
  for (const ArrayShape& x : a.arrays) {
    for (const ArrayShape& y : b.arrays) {
      ArrayShape both = Intersect(x, y);
      if (!IsEmpty(both)) out.arrays.push_back(std::move(both));
    }
  }
  for (const ObjectShape& x : a.objects) {
    for (const ObjectShape& y : b.objects) {
      KRAFLA_ASSIGN_OR_RETURN(ObjectShape both, Intersect(x, y));
      if (!IsEmpty(both)) out.objects.push_back(std::move(both));
    }
  }
  return out;
}

StatusOr<Shape> Union(Shape a, const Shape& b) {
  a.null |= b.null;
  a.yes |= b.yes;
  a.no |= b.no;
  KRAFLA_ASSIGN_OR_RETURN(a.numbers, Union(a.numbers, b.numbers));
  a.strings.insert(a.strings.end(), b.strings.begin(), b.strings.end());
  a.arrays.insert(a.arrays.end(), b.arrays.begin(), b.arrays.end());
  a.objects.insert(a.objects.end(), b.objects.begin(), b.objects.end());
  KRAFLA_RETURN_IF_ERROR(CheckAlternatives(a));
  return a;
}

StatusOr<CharDfa> StringsOf(const StringShape& shape) {
  CharDfa out = shape.strings ? *shape.strings : CharDfa::All();
  if (shape.min == 0 && shape.max == kUnbounded) return out;
  const uint32_t most = shape.max == kUnbounded ? shape.min : shape.max;
  if (most > kMaxCountedLength) {
    return UnsupportedError("a length of {} together with a pattern, want at most {}", most,
                            kMaxCountedLength);
  }
  if (shape.max != kUnbounded) return CharDfa::Intersect(out, CharDfa::Lengths(shape.min, most));
  if (shape.min == 0) return out;
  return CharDfa::Minus(out, CharDfa::Lengths(0, shape.min - 1));
}

StatusOr<Shape> Complement(const Shape& a) {
  Shape out = Shape::Anything();
  out.null = !a.null;
  out.yes = !a.yes;
  out.no = !a.no;
  KRAFLA_ASSIGN_OR_RETURN(out.numbers, Complement(a.numbers));
  for (const StringShape& s : a.strings) {
    KRAFLA_ASSIGN_OR_RETURN(const CharDfa strings, StringsOf(s));
    if (out.strings.empty()) break;
    const CharDfa left = out.strings[0].strings ? *out.strings[0].strings : CharDfa::All();
    KRAFLA_ASSIGN_OR_RETURN(CharDfa rest, CharDfa::Minus(left, strings));
    out.strings.clear();
    if (!rest.empty()) out.strings.push_back({std::make_shared<CharDfa>(std::move(rest))});
  }
  Shape rest = Shape::Anything();
  for (const ArrayShape& x : a.arrays) {
    rest.arrays.clear();
    KRAFLA_ASSIGN_OR_RETURN(rest.arrays, Complement(x));
    Shape only;
    only.arrays = std::move(out.arrays);
    KRAFLA_ASSIGN_OR_RETURN(only, Intersect(only, rest));
    out.arrays = std::move(only.arrays);
  }
  for (const ObjectShape& x : a.objects) {
    KRAFLA_ASSIGN_OR_RETURN(rest.objects, Complement(x));
    Shape only;
    only.objects = std::move(out.objects);
    KRAFLA_ASSIGN_OR_RETURN(only, Intersect(only, rest));
    out.objects = std::move(only.objects);
  }
  return out;
}

}  // namespace krafla

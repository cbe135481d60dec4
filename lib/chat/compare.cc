// Comparison walks containers with the depth limit of the render.
#include "lib/chat/compare.h"

#include <algorithm>
#include <cmath>

#include "lib/chat/characters.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

constexpr double kTwo63 = 9223372036854775808.0;

// -1, 0, 1, or 2 when unordered (NaN); exact also where an integer has no double.
int OrderIntDouble(int64_t i, double d) {
  if (std::isnan(d)) return 2;
  if (d >= kTwo63) return -1;
  if (d < -kTwo63) return 1;
  int64_t whole = static_cast<int64_t>(d);
  if (i != whole) return i < whole ? -1 : 1;
  double fraction = d - static_cast<double>(whole);
  return fraction > 0 ? -1 : fraction < 0 ? 1 : 0;
}

int OrderNumbers(const Value& a, const Value& b) {
  if (a.IsInteger() && b.IsInteger()) return a.i < b.i ? -1 : a.i > b.i ? 1 : 0;
  if (a.IsInteger()) return OrderIntDouble(a.i, b.d);
  if (b.IsInteger()) {
    int order = OrderIntDouble(b.i, a.d);
    return order == 2 ? 2 : -order;
  }
  if (std::isnan(a.d) || std::isnan(b.d)) return 2;
  return a.d < b.d ? -1 : a.d > b.d ? 1 : 0;
}

bool IsSequence(const Value& v) { return v.Is(Kind::kList); }

bool SameListKind(const Value& a, const Value& b) {
  auto tuple = [](const Value& v) {
    ListStyle style = v.As<ListObject>().style;
    return style == ListStyle::kGroup ? ListStyle::kTuple : style;
  };
  return tuple(a) == tuple(b);
}

StatusOr<bool> MapsEqual(Interpreter& in, const MapObject& a, const MapObject& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Value* other = b.Find(key);
    if (other == nullptr) return false;
    KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, value, *other));
    if (!equal) return false;
  }
  return true;
}

}  // namespace

bool KeysEqual(const Value& a, const Value& b) {
  if (a.IsNumber() && b.IsNumber()) return OrderNumbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::kMissing:
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.text().view() == b.text().view();
    case Kind::kFunction:
      return a.builtin == b.builtin;
    default:
      return a.object == b.object;
  }
}

StatusOr<bool> Equal(Interpreter& in, const Value& a, const Value& b) {
  KRAFLA_RETURN_IF_ERROR(in.Step());
  if (KeysEqual(a, b)) return true;
  if (a.kind != b.kind) return false;
  if (a.Is(Kind::kRange)) {
    const RangeObject& x = a.As<RangeObject>();
    const RangeObject& y = b.As<RangeObject>();
    return x.count == y.count &&
           (x.count == 0 || (x.start == y.start && (x.count == 1 || x.step == y.step)));
  }
  if (!a.Is(Kind::kMap) && !IsSequence(a)) return false;
  Nesting nesting(in);
  if (nesting.too_deep()) return nesting.error();
  if (a.Is(Kind::kMap)) return MapsEqual(in, a.As<MapObject>(), b.As<MapObject>());
  if (!SameListKind(a, b) || a.items().size() != b.items().size()) return false;
  for (size_t i = 0; i < a.items().size(); ++i) {
    KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, a.items()[i], b.items()[i]));
    if (!equal) return false;
  }
  return true;
}

StatusOr<bool> Less(Interpreter& in, const Value& a, const Value& b) {
  KRAFLA_RETURN_IF_ERROR(in.Step());
  if (a.Is(Kind::kUndefined)) return in.UndefinedError(a);
  if (b.Is(Kind::kUndefined)) return in.UndefinedError(b);
  if (a.IsNumber() && b.IsNumber()) return OrderNumbers(a, b) == -1;
  if (a.Is(Kind::kString) && b.Is(Kind::kString)) return a.text().view() < b.text().view();
  if (IsSequence(a) && IsSequence(b) && SameListKind(a, b)) {
    Nesting nesting(in);
    if (nesting.too_deep()) return nesting.error();
    size_t n = std::min(a.items().size(), b.items().size());
    for (size_t i = 0; i < n; ++i) {
      KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, a.items()[i], b.items()[i]));
      if (!equal) return Less(in, a.items()[i], b.items()[i]);
    }
    return a.items().size() < b.items().size();
  }
  return in.Error("no order between '{}' and '{}'", TypeName(a), TypeName(b));
}

StatusOr<bool> Contains(Interpreter& in, const Value& container, const Value& item) {
  switch (container.kind) {
    case Kind::kUndefined:
      return false;
    case Kind::kString:
      if (item.Is(Kind::kUndefined)) return in.UndefinedError(item);
      if (!item.Is(Kind::kString)) {
        return in.Error("'in <string>' requires a string on the left, not {}", TypeName(item));
      }
      KRAFLA_RETURN_IF_ERROR(in.Step(container.text().size() / 1024));
      return FindText(container.text().view(), item.text().view(), 0) != std::string_view::npos;
    case Kind::kMap:
      return container.As<MapObject>().Find(item) != nullptr;
    case Kind::kList:
    case Kind::kRange:
    case Kind::kGenerator: {
      KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, container));
      for (const Value& v : items) {
        KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, v, item));
        if (equal) return true;
      }
      return false;
    }
    default:
      return in.Error("argument of type '{}' is not iterable", TypeName(container));
  }
}

StatusOr<bool> CompareValues(Interpreter& in, Comparison comparison, const Value& a,
                             const Value& b) {
  switch (comparison) {
    case kEq:
      return Equal(in, a, b);
    case kNe: {
      KRAFLA_ASSIGN_OR_RETURN(bool equal, Equal(in, a, b));
      return !equal;
    }
    case kLt:
      return Less(in, a, b);
    case kGt:
      return Less(in, b, a);
    case kLe:
    case kGe: {
      const Value& low = comparison == kLe ? a : b;
      const Value& high = comparison == kLe ? b : a;
      KRAFLA_ASSIGN_OR_RETURN(bool less, Less(in, low, high));
      if (less) return true;
      return Equal(in, low, high);
    }
    case kIn:
      return Contains(in, b, a);
    case kNotIn: {
      KRAFLA_ASSIGN_OR_RETURN(bool contains, Contains(in, b, a));
      return !contains;
    }
  }
  return false;
}

StatusOr<std::vector<size_t>> SortOrder(Interpreter& in, const std::vector<Value>& keys,
                                        bool reverse) {
  // Bottom-up merge sort: comparisons can fail, which std::stable_sort has no way to say.
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<size_t> merged(order.size());
  for (size_t width = 1; width < order.size(); width *= 2) {
    for (size_t begin = 0; begin < order.size(); begin += 2 * width) {
      size_t left = begin;
      size_t middle = std::min(begin + width, order.size());
      size_t right = middle;
      size_t end = std::min(begin + 2 * width, order.size());
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          const Value& l = keys[order[left]];
          const Value& r = keys[order[right]];
          // Equal keys keep their order, reversed or not, as in Python.
          KRAFLA_ASSIGN_OR_RETURN(take_right, reverse ? Less(in, l, r) : Less(in, r, l));
        }
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    std::swap(order, merged);
  }
  return order;
}

}  // namespace krafla::chat

// Look-up order follows jinja2.sandbox: a dict's method hides an item in `x.items`, not in
// `x['items']`.
#include "lib/chat/access.h"

#include <algorithm>
#include <charconv>

#include "lib/chat/characters.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

Value MissingAttribute(Interpreter& in, const Value& object, std::string_view name) {
  if (object.Is(Kind::kNone)) return in.Undefined(FormatText("'None' has no attribute '{}'", name));
  return in.Undefined(FormatText("'{} object' has no attribute '{}'", TypeName(object), name));
}

Value LoopAttribute(Interpreter& in, LoopObject& loop, std::string_view name) {
  int64_t index = static_cast<int64_t>(loop.index);
  int64_t length = static_cast<int64_t>(loop.items.size());
  if (name == "index") return Value::Int(index + 1);
  if (name == "index0") return Value::Int(index);
  if (name == "first") return Value::Bool(index == 0);
  if (name == "last") return Value::Bool(index + 1 == length);
  if (name == "length") return Value::Int(length);
  if (name == "revindex") return Value::Int(length - index);
  if (name == "revindex0") return Value::Int(length - index - 1);
  if (name == "depth") return Value::Int(1);
  if (name == "depth0") return Value::Int(0);
  if (name == "previtem") {
    return index > 0 ? loop.items[loop.index - 1] : in.Undefined("there is no previous item");
  }
  if (name == "nextitem") {
    return index + 1 < length ? loop.items[loop.index + 1] : in.Undefined("there is no next item");
  }
  return Value();
}

Value BoundMethod(Interpreter& in, const Value& self, const Builtin* builtin) {
  MethodObject* method = in.heap().New<MethodObject>(0);
  method->self = self;
  method->builtin = builtin;
  return Value::Of(Kind::kMethod, method);
}

// What getattr(object, name) gives in Python, or kMissing.
Value Attribute(Interpreter& in, const Value& object, std::string_view name) {
  if (const Builtin* method = FindMethod(object, name)) return BoundMethod(in, object, method);
  if (IsRefusedMethod(object, name)) {
    return in.Undefined(
        FormatText("access to attribute '{}' of '{}' object is unsafe", name, TypeName(object)));
  }
  if (object.Is(Kind::kLoop)) {
    Value v = LoopAttribute(in, object.As<LoopObject>(), name);
    if (v.given()) return v;
    if (name == "cycle" || name == "changed") {
      return BoundMethod(in, object, FindGlobal(name == "cycle" ? "loop.cycle" : "loop.changed"));
    }
  }
  if (object.Is(Kind::kNamespace)) {
    if (Value* v = object.As<NamespaceObject>().Find(name)) return *v;
  }
  if (object.Is(Kind::kList) && object.As<ListObject>().style == ListStyle::kGroup) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (object.Is(Kind::kCycler)) {
    CyclerObject& cycler = object.As<CyclerObject>();
    if (name == "current") return cycler.items[cycler.next];
    if (name == "next") return BoundMethod(in, object, FindGlobal("cycler.next"));
    if (name == "reset") return BoundMethod(in, object, FindGlobal("cycler.reset"));
  }
  return Value();
}

// What object[index] gives in Python, or kMissing where it raises.
Value Item(Interpreter& in, const Value& object, const Value& index) {
  if (object.Is(Kind::kMap)) {
    const Value* found = object.As<MapObject>().Find(index);
    return found == nullptr ? Value() : *found;
  }
  if (!index.IsInteger()) return Value();
  int64_t i = index.i;
  auto within = [&i](size_t n) {
    if (i < 0) i += static_cast<int64_t>(n);
    return i >= 0 && i < static_cast<int64_t>(n);
  };
  if (object.Is(Kind::kList)) {
    ListStyle style = object.As<ListObject>().style;
    bool view =
        style == ListStyle::kKeys || style == ListStyle::kValues || style == ListStyle::kItems;
    return !view && within(object.items().size()) ? object.items()[static_cast<size_t>(i)]
                                                  : Value();
  }
  if (object.Is(Kind::kRange)) {
    const RangeObject& r = object.As<RangeObject>();
    return within(static_cast<size_t>(r.count)) ? Value::Int(r.start + i * r.step) : Value();
  }
  if (object.Is(Kind::kString)) {
    const Text& text = object.text();
    if (!within(CountCodePoints(text.view()))) return Value();
    size_t begin = CodePointOffset(text.view(), static_cast<size_t>(i));
    return in.String(text.Slice(begin, NextCodePoint(text.view(), begin)));
  }
  return Value();
}

struct Bounds {
  int64_t start, stop, step;
  size_t count;
};

int64_t ClampIndex(const Value& v, int64_t length, int64_t fallback, int64_t low, int64_t high) {
  if (!v.given() || v.Is(Kind::kNone)) return fallback;
  int64_t i = v.i;
  if (i < 0) i = i < -length ? low : i + length;
  return std::clamp(i, low, high);
}

Bounds SliceBounds(const Value& start, const Value& stop, int64_t step, size_t size) {
  int64_t n = static_cast<int64_t>(size);
  Bounds b{0, 0, step, 0};
  int64_t low = step > 0 ? 0 : -1;
  int64_t high = step > 0 ? n : n - 1;
  b.start = ClampIndex(start, n, step > 0 ? 0 : n - 1, low, high);
  b.stop = ClampIndex(stop, n, step > 0 ? n : -1, low, high);
  // Unsigned: -step of the smallest integer does not fit int64.
  uint64_t span = static_cast<uint64_t>(step > 0 ? b.stop - b.start : b.start - b.stop);
  uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  bool any = step > 0 ? b.start < b.stop : b.start > b.stop;
  if (any) b.count = static_cast<size_t>((span - 1) / stride + 1);
  return b;
}

Value SliceText(Interpreter& in, const Text& text, const Bounds& b) {
  std::string_view view = text.view();
  if (b.step == 1) {
    size_t begin = CodePointOffset(view, static_cast<size_t>(b.start));
    size_t length = CodePointOffset(view.substr(begin), b.count);
    return in.String(text.Slice(begin, begin + length));
  }
  std::vector<size_t> offsets;
  for (size_t i = 0; i < view.size(); i = NextCodePoint(view, i)) offsets.push_back(i);
  offsets.push_back(view.size());
  Text out;
  int64_t i = b.start;
  for (size_t k = 0; k < b.count; ++k) {
    out.Append(text, offsets[static_cast<size_t>(i)], offsets[static_cast<size_t>(i) + 1]);
    if (k + 1 < b.count) i += b.step;
  }
  return in.String(std::move(out));
}

StatusOr<Value> SliceRange(Interpreter& in, const RangeObject& r, const Value& start,
                           const Value& stop, int64_t stride) {
  Bounds b = SliceBounds(start, stop, stride, static_cast<size_t>(r.count));
  RangeObject* range = in.heap().New<RangeObject>(0);
  range->count = static_cast<int64_t>(b.count);
  // The bounds of an empty or short range may lie beyond 64 bits; they are only ever printed.
  auto at = [&r](int64_t index) {
    int64_t value = 0;
    bool fits = !__builtin_mul_overflow(index, r.step, &value) &&
                !__builtin_add_overflow(r.start, value, &value);
    return fits ? value : r.start;
  };
  range->start = at(b.start);
  range->stop = at(b.stop);
  if (__builtin_mul_overflow(r.step, stride, &range->step)) range->step = r.step;
  return Value::Of(Kind::kRange, range);
}

}  // namespace

StatusOr<Value> GetAttribute(Interpreter& in, const Value& object, std::string_view name) {
  if (object.Is(Kind::kUndefined)) return in.UndefinedError(object);
  Value v = Attribute(in, object, name);
  if (v.given()) return v;
  if (object.Is(Kind::kMap)) {
    if (const Value* found = object.As<MapObject>().Find(name)) return *found;
  }
  return MissingAttribute(in, object, name);
}

StatusOr<Value> GetItem(Interpreter& in, const Value& object, const Value& index) {
  if (object.Is(Kind::kUndefined)) return in.UndefinedError(object);
  KRAFLA_RETURN_IF_ERROR(in.Step(object.Is(Kind::kString) ? object.text().size() / 1024 : 0));
  Value v = Item(in, object, index);
  if (v.given()) return v;
  if (index.Is(Kind::kString)) {
    v = Attribute(in, object, index.text().view());
    if (v.given()) return v;
    return MissingAttribute(in, object, index.text().view());
  }
  if (index.IsInteger()) {
    return in.Undefined(FormatText("{} object has no element {}", TypeName(object), index.i));
  }
  return in.Undefined(FormatText("{} object has no such element", TypeName(object)));
}

StatusOr<Value> GetSlice(Interpreter& in, const Value& object, const Value& start,
                         const Value& stop, const Value& step) {
  if (object.Is(Kind::kUndefined)) return in.UndefinedError(object);
  for (const Value* v : {&start, &stop, &step}) {
    if (v->Is(Kind::kUndefined)) return in.UndefinedError(*v);
    if (v->given() && !v->Is(Kind::kNone) && !v->IsInteger()) {
      return in.Error("slice index: got a {}, want an int", TypeName(*v));
    }
  }
  int64_t stride = step.IsInteger() ? step.i : 1;
  if (stride == 0) return in.Error("slice step cannot be zero");
  if (object.Is(Kind::kString)) {
    const Text& text = object.text();
    KRAFLA_RETURN_IF_ERROR(in.Step(text.size() / 1024));
    return SliceText(in, text, SliceBounds(start, stop, stride, CountCodePoints(text.view())));
  }
  if (object.Is(Kind::kRange)) return SliceRange(in, object.As<RangeObject>(), start, stop, stride);
  ListStyle style = object.Is(Kind::kList) ? object.As<ListObject>().style : ListStyle::kKeys;
  bool view =
      style == ListStyle::kKeys || style == ListStyle::kValues || style == ListStyle::kItems;
  if (view) return in.Undefined(FormatText("{} object cannot be sliced", TypeName(object)));
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, object));
  Bounds b = SliceBounds(start, stop, stride, items.size());
  std::vector<Value> out;
  int64_t i = b.start;
  for (size_t k = 0; k < b.count; ++k) {
    out.push_back(items[static_cast<size_t>(i)]);
    if (k + 1 < b.count) i += b.step;
  }
  return in.List(std::move(out), style == ListStyle::kList ? ListStyle::kList : ListStyle::kTuple);
}

StatusOr<Value> GetPath(Interpreter& in, const Value& object, const Value& path) {
  if (!path.Is(Kind::kString)) return GetItem(in, object, path);
  std::string_view rest = path.text().view();
  Value value = object;
  while (true) {
    size_t dot = rest.find('.');
    std::string_view part = rest.substr(0, dot);
    int64_t index = 0;
    auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    bool is_index = error == std::errc() && end == part.data() + part.size() && part[0] != '-';
    Value key = is_index ? Value::Int(index) : in.String(std::string(part), true);
    KRAFLA_ASSIGN_OR_RETURN(value, GetItem(in, value, key));
    if (dot == std::string_view::npos) return value;
    rest = rest.substr(dot + 1);
  }
}

}  // namespace krafla::chat

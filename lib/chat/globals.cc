// Global functions, and the methods of loop and cycler (rows with a dot: no template can name
// them).
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"
#include "lib/chat/strftime.h"

namespace krafla::chat {
namespace {

StatusOr<Value> Range(Interpreter& in, const Value&, CallArgs& args) {
  constexpr int64_t kMaxRange = 100'000;  // that of Jinja's sandbox
  KRAFLA_ASSIGN_OR_RETURN(int64_t first, IntArgument(in, args.positional[0], "start", 0));
  KRAFLA_ASSIGN_OR_RETURN(int64_t stop, IntArgument(in, args.positional[1], "stop", 0));
  KRAFLA_ASSIGN_OR_RETURN(int64_t step, IntArgument(in, args.positional[2], "step", 1));
  if (!args.positional[1].given()) std::swap(first, stop), first = 0;
  if (step == 0) return in.Error("range() step must not be zero");
  uint64_t span = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(first)
                           : static_cast<uint64_t>(first) - static_cast<uint64_t>(stop);
  bool any = step > 0 ? first < stop : first > stop;
  uint64_t stride =
      step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  uint64_t count = any ? (span - 1) / stride + 1 : 0;
  if (count > kMaxRange) return in.Error("range too big: {} items, at most {}", count, kMaxRange);
  RangeObject* range = in.heap().New<RangeObject>(0);
  range->start = first;
  range->stop = stop;
  range->step = step;
  range->count = static_cast<int64_t>(count);
  return Value::Of(Kind::kRange, range);
}

// dict(mapping or pairs, name=value...), as a map.
StatusOr<MapObject*> MakeMap(Interpreter& in, CallArgs& args) {
  MapObject* map = in.heap().New<MapObject>(args.named.size() * sizeof(Value) * 3);
  if (args.positional.size() > 1) return in.Error("want at most one positional argument");
  if (!args.positional.empty()) {
    const Value& from = args.positional[0];
    if (from.Is(Kind::kMap)) {
      for (const auto& [key, value] : from.As<MapObject>().entries) map->Set(key, value);
    } else {
      KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> pairs, Items(in, from));
      for (const Value& pair : pairs) {
        KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> both, Items(in, pair));
        if (both.size() != 2) return in.Error("want pairs of key and value");
        map->Set(both[0], both[1]);
      }
    }
  }
  for (size_t i = 0; i < args.named.size(); ++i) {
    const auto& [name, value] = args.named[i];
    map->Set(in.String(std::string(name), i < args.n_own_named), value);
  }
  in.heap().Charge(map->entries.size() * sizeof(Value) * 3);
  return map;
}

StatusOr<Value> Dict(Interpreter& in, const Value&, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(MapObject * map, MakeMap(in, args));
  return Value::Of(Kind::kMap, map);
}

StatusOr<Value> Namespace(Interpreter& in, const Value&, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(MapObject * map, MakeMap(in, args));
  NamespaceObject* ns = in.heap().New<NamespaceObject>(map->entries.size() * sizeof(Value) * 3);
  for (const auto& [key, value] : map->entries) {
    if (!key.Is(Kind::kString)) return in.Error("namespace(): a key is not a string");
    ns->attributes.emplace_back(key.text().bytes(), value);
  }
  return Value::Of(Kind::kNamespace, ns);
}

StatusOr<Value> RaiseException(Interpreter& in, const Value&, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(Text message, ToText(in, args.positional[0]));
  return in.Error("raise_exception: {}", message.bytes());
}

StatusOr<Value> StrftimeNow(Interpreter& in, const Value&, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(const Text* format, TextArgument(in, args.positional[0], "format"));
  if (format == nullptr) return in.Error("strftime_now: wants a format");
  std::string out;
  std::string_view unknown;
  if (!FormatTime(in.clock(), format->view(), &out, &unknown)) {
    return in.Error("strftime_now: unsupported conversion '{}'", unknown);
  }
  return in.String(std::move(out), format->AllTrusted());
}

StatusOr<Value> Cycler(Interpreter& in, const Value&, CallArgs& args) {
  if (args.positional.empty()) return in.Error("cycler(): wants at least one item");
  CyclerObject* cycler = in.heap().New<CyclerObject>(args.positional.size() * sizeof(Value));
  cycler->items = args.positional;
  return Value::Of(Kind::kCycler, cycler);
}

StatusOr<Value> Joiner(Interpreter& in, const Value&, CallArgs& args) {
  CyclerObject* joiner = in.heap().New<CyclerObject>(sizeof(Value));
  joiner->items = {args.positional[0].given() ? args.positional[0] : in.String(", ", true)};
  return Value::Of(Kind::kJoiner, joiner);
}

StatusOr<Value> CyclerNext(Interpreter&, const Value& self, CallArgs&) {
  CyclerObject& cycler = self.As<CyclerObject>();
  Value current = cycler.items[cycler.next];
  cycler.next = (cycler.next + 1) % cycler.items.size();
  return current;
}

StatusOr<Value> CyclerReset(Interpreter&, const Value& self, CallArgs&) {
  self.As<CyclerObject>().next = 0;
  return Value::None();
}

StatusOr<Value> LoopCycle(Interpreter& in, const Value& self, CallArgs& args) {
  if (args.positional.empty()) return in.Error("loop.cycle(): no items for cycling given");
  return args.positional[self.As<LoopObject>().index % args.positional.size()];
}

StatusOr<Value> LoopChanged(Interpreter& in, const Value& self, CallArgs& args) {
  LoopObject& loop = self.As<LoopObject>();
  bool same = loop.has_changed && loop.last_changed.size() == args.positional.size();
  for (size_t i = 0; same && i < args.positional.size(); ++i) {
    KRAFLA_ASSIGN_OR_RETURN(same, Equal(in, loop.last_changed[i], args.positional[i]));
  }
  if (same) return Value::Bool(false);
  loop.has_changed = true;
  loop.last_changed = args.positional;
  return Value::Bool(true);
}

constexpr Builtin kTable[] = {
    {"range", "!start stop step", Range},
    {"dict", "*", Dict},
    {"namespace", "*", Namespace},
    {"raise_exception", "!message", RaiseException},
    {"strftime_now", "!format", StrftimeNow},
    {"cycler", "*", Cycler},
    {"joiner", "sep", Joiner},
    {"cycler.next", "", CyclerNext},
    {"cycler.reset", "", CyclerReset},
    {"loop.cycle", "*", LoopCycle},
    {"loop.changed", "*", LoopChanged},
};

}  // namespace

std::span<const Builtin> Globals() { return kTable; }

}  // namespace krafla::chat

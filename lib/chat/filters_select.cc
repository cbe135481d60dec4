// map, select, reject and their attribute forms: filters that call filters and tests by name.
#include "lib/chat/access.h"
#include "lib/chat/convert.h"

namespace krafla::chat {
namespace {

StatusOr<Value> Map(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  if (args.positional.empty()) {
    Value attribute;
    Value fallback;
    for (const auto& [name, value] : args.named) {
      if (name != "attribute" && name != "default") {
        return in.Error("filter 'map': unknown argument '{}'", name);
      }
      (name == "attribute" ? attribute : fallback) = value;
    }
    if (!attribute.given()) return in.Error("filter 'map': wants a filter's name or an attribute");
    for (Value& item : items) {
      KRAFLA_ASSIGN_OR_RETURN(item, GetPath(in, item, attribute));
      if (item.Is(Kind::kUndefined) && fallback.given()) item = fallback;
    }
    return in.Generator(std::move(items));
  }
  KRAFLA_ASSIGN_OR_RETURN(const Text* name, TextArgument(in, args.positional[0], "name"));
  const Builtin* filter = name == nullptr ? nullptr : FindFilter(name->view());
  if (filter == nullptr) {
    return in.Error("filter 'map': unsupported filter '{}'", name == nullptr ? "" : name->view());
  }
  Nesting nesting(in);
  if (nesting.too_deep()) return nesting.error();
  for (Value& item : items) {
    CallArgs call{{args.positional.begin() + 1, args.positional.end()}, args.named};
    KRAFLA_ASSIGN_OR_RETURN(item, Invoke(in, "filter", *filter, item, &call));
  }
  return in.Generator(std::move(items));
}

// by_attribute: the first argument is the path of what is tested.
template <bool by_attribute, bool wanted>
StatusOr<Value> Select(Interpreter& in, const Value& self, CallArgs& args) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(in, self));
  size_t next = by_attribute ? 1 : 0;
  if (args.positional.size() < next)
    return in.Error("a filter by attribute wants the attribute's name");
  const Builtin* test = nullptr;
  if (args.positional.size() > next) {
    KRAFLA_ASSIGN_OR_RETURN(const Text* name, TextArgument(in, args.positional[next], "test"));
    test = name == nullptr ? nullptr : FindTest(name->view());
    if (test == nullptr)
      return in.Error("unsupported test '{}'", name == nullptr ? "" : name->view());
    ++next;
  }
  Nesting nesting(in);
  if (nesting.too_deep()) return nesting.error();
  std::vector<Value> kept;
  for (const Value& item : items) {
    KRAFLA_RETURN_IF_ERROR(in.Step());
    Value subject = item;
    if (by_attribute) {
      KRAFLA_ASSIGN_OR_RETURN(subject, GetPath(in, item, args.positional[0]));
    }
    bool holds = Truthy(subject);
    if (test != nullptr) {
      CallArgs call{
          {args.positional.begin() + static_cast<std::ptrdiff_t>(next), args.positional.end()},
          args.named};
      KRAFLA_ASSIGN_OR_RETURN(Value result, Invoke(in, "test", *test, subject, &call));
      holds = Truthy(result);
    }
    if (holds == wanted) kept.push_back(item);
  }
  return in.Generator(std::move(kept));
}

constexpr Builtin kTable[] = {
    {"map", "*", Map},
    {"select", "*", Select<false, true>},
    {"reject", "*", Select<false, false>},
    {"selectattr", "*", Select<true, true>},
    {"rejectattr", "*", Select<true, false>},
};

}  // namespace

std::span<const Builtin> SelectFilters() { return kTable; }

}  // namespace krafla::chat

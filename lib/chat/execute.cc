// Execution of statements. A body of a loop, macro, call, filter, set, with or generation block has
// a scope of its own; `if` has none, as in Jinja.
#include "lib/chat/convert.h"
#include "lib/chat/interpreter.h"

namespace krafla::chat {

// Another scope, another output, for as long as they live.
class ScopeSwap {
 public:
  ScopeSwap(Interpreter& in, Scope* scope) : in_(in), saved_(std::exchange(in.scope_, scope)) {}
  ~ScopeSwap() { in_.scope_ = saved_; }
  ScopeSwap(const ScopeSwap&) = delete;
  ScopeSwap& operator=(const ScopeSwap&) = delete;

 private:
  Interpreter& in_;
  Scope* saved_;
};

class OutputSwap {
 public:
  OutputSwap(Interpreter& in, Text* out) : in_(in), saved_(std::exchange(in.out_, out)) {}
  ~OutputSwap() { in_.out_ = saved_; }
  OutputSwap(const OutputSwap&) = delete;
  OutputSwap& operator=(const OutputSwap&) = delete;

 private:
  Interpreter& in_;
  Text* saved_;
};

Status Interpreter::CheckOutput() {
  if (out_->size() > limits_.output_bytes) {
    return Error("output is longer than {} bytes", limits_.output_bytes);
  }
  return OkStatus();
}

Status Interpreter::ExecBody(ListId body, Flow* flow) {
  for (NodeId id : program_.List(body)) {
    KRAFLA_RETURN_IF_ERROR(Exec(id, flow));
    if (*flow != Flow::kNormal) break;
  }
  return OkStatus();
}

Status Interpreter::Exec(NodeId id, Flow* flow) {
  const Node& node = program_.nodes[id];
  line_ = node.line;
  KRAFLA_RETURN_IF_ERROR(Step());
  Nesting nesting(*this);
  if (nesting.too_deep()) return nesting.error();
  switch (node.op) {
    case Op::kText:
      out_->Append(program_.constants[node.a].text());
      return CheckOutput();
    case Op::kOutput:
      return ExecOutput(node);
    case Op::kFor:
      return ExecFor(node, flow);
    case Op::kIf:
      return ExecIf(node, flow);
    case Op::kSet: {
      KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(node.b));
      line_ = node.line;
      return Assign(node.a, v);
    }
    case Op::kSetBlock:
      return ExecSetBlock(node, flow);
    case Op::kMacro:
      scope_->Set(node.a, NewMacro(id));
      return OkStatus();
    case Op::kCallBlock:
      return ExecCallBlock(node);
    case Op::kFilterBlock:
      return ExecFilterBlock(node, flow);
    case Op::kWith:
      return ExecWith(node, flow);
    case Op::kScope:
      return ExecScope(node.a, flow);
    case Op::kBreak:
      *flow = Flow::kBreak;
      return OkStatus();
    case Op::kContinue:
      *flow = Flow::kContinue;
      return OkStatus();
    default:
      return InternalError("chat template, line {}: an expression stands as a statement",
                           node.line);
  }
}

Status Interpreter::ExecOutput(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(node.a));
  line_ = node.line;
  KRAFLA_RETURN_IF_ERROR(AppendStr(*this, v, out_));
  return CheckOutput();
}

StatusOr<std::vector<Value>> Interpreter::LoopItems(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value iterable, Eval(node.b));
  line_ = node.line;
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(*this, iterable));
  if (node.c == kNoNode) return items;
  std::vector<Value> kept;
  ScopeSwap swap(*this, NewScope(scope_));
  for (const Value& item : items) {
    KRAFLA_RETURN_IF_ERROR(Assign(node.a, item));
    KRAFLA_ASSIGN_OR_RETURN(Value keep, Eval(node.c));
    if (Truthy(keep)) kept.push_back(item);
  }
  return kept;
}

Status Interpreter::ExecFor(const Node& node, Flow* flow) {
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, LoopItems(node));
  if (items.empty()) return ExecScope(node.e, flow);
  LoopObject* loop = heap_.New<LoopObject>(items.size() * sizeof(Value));
  loop->items = std::move(items);
  Scope* outer = scope_;
  Scope* scope = NewScope(outer);
  for (; loop->index < loop->items.size(); ++loop->index) {
    KRAFLA_RETURN_IF_ERROR(Step());
    if (scope->captured) scope = NewScope(outer);
    scope->variables.clear();
    ScopeSwap swap(*this, scope);
    scope->Set(kSymbolLoop, Value::Of(Kind::kLoop, loop));
    line_ = node.line;
    KRAFLA_RETURN_IF_ERROR(Assign(node.a, loop->items[loop->index]));
    Flow inner = Flow::kNormal;
    KRAFLA_RETURN_IF_ERROR(ExecBody(node.d, &inner));
    if (inner == Flow::kBreak) break;
  }
  return OkStatus();
}

Status Interpreter::ExecIf(const Node& node, Flow* flow) {
  std::span<const uint32_t> branches = program_.List(node.a);
  for (size_t i = 0; i < branches.size(); i += 2) {
    if (branches[i] != kNoNode) {
      KRAFLA_ASSIGN_OR_RETURN(Value condition, Eval(branches[i]));
      if (!Truthy(condition)) continue;
    }
    return ExecBody(branches[i + 1], flow);
  }
  return OkStatus();
}

StatusOr<Value> Interpreter::Capture(ListId body, Flow* flow) {
  Text text;
  {
    OutputSwap output(*this, &text);
    KRAFLA_RETURN_IF_ERROR(ExecScope(body, flow));
  }
  return String(std::move(text));
}

Status Interpreter::ExecSetBlock(const Node& node, Flow* flow) {
  KRAFLA_ASSIGN_OR_RETURN(Value v, Capture(node.c, flow));
  if (*flow != Flow::kNormal) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(v, EvalFilterChain(node.b, v));
  return Assign(node.a, v);
}

Status Interpreter::ExecFilterBlock(const Node& node, Flow* flow) {
  KRAFLA_ASSIGN_OR_RETURN(Value v, Capture(node.b, flow));
  if (*flow != Flow::kNormal) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(v, EvalFilterChain(node.a, v));
  KRAFLA_RETURN_IF_ERROR(AppendStr(*this, v, out_));
  return CheckOutput();
}

Status Interpreter::ExecWith(const Node& node, Flow* flow) {
  std::span<const uint32_t> assignments = program_.List(node.a);
  std::vector<Value> values;  // evaluated outside of the new scope
  for (size_t i = 1; i < assignments.size(); i += 2) {
    KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(assignments[i]));
    values.push_back(v);
  }
  ScopeSwap swap(*this, NewScope(scope_));
  for (size_t i = 0; i < values.size(); ++i) {
    KRAFLA_RETURN_IF_ERROR(Assign(assignments[2 * i], values[i]));
  }
  return ExecBody(node.b, flow);
}

Status Interpreter::ExecScope(ListId body, Flow* flow) {
  ScopeSwap swap(*this, NewScope(scope_));
  return ExecBody(body, flow);
}

Status Interpreter::Assign(NodeId target, const Value& value) {
  const Node& node = program_.nodes[target];
  if (node.op == Op::kName) {
    scope_->Set(node.a, value);
    return OkStatus();
  }
  if (node.op == Op::kNamespaceTarget) {
    KRAFLA_ASSIGN_OR_RETURN(Value ns, EvalName(node));
    if (!ns.Is(Kind::kNamespace)) return Error("cannot assign attribute on non-namespace object");
    NamespaceObject& object = ns.As<NamespaceObject>();
    const std::string& name = program_.symbols[node.b];
    if (Value* old = object.Find(name)) {
      *old = value;
    } else {
      heap_.Charge(name.size() + sizeof(std::pair<std::string, Value>));
      object.attributes.emplace_back(name, value);
    }
    return OkStatus();
  }
  Nesting nesting(*this);
  if (nesting.too_deep()) return nesting.error();
  std::span<const uint32_t> targets = program_.List(node.a);
  KRAFLA_ASSIGN_OR_RETURN(std::vector<Value> items, Items(*this, value));
  if (items.size() != targets.size()) {
    return Error("cannot unpack {} values into {} names", items.size(), targets.size());
  }
  for (size_t i = 0; i < items.size(); ++i) KRAFLA_RETURN_IF_ERROR(Assign(targets[i], items[i]));
  return OkStatus();
}

Value Interpreter::NewMacro(NodeId id) {
  MacroObject* macro = heap_.New<MacroObject>(0);
  macro->node = id;
  macro->closure = scope_;
  for (Scope* s = scope_; s != nullptr && !s->captured; s = s->parent) s->captured = true;
  return Value::Of(Kind::kMacro, macro);
}

Status Interpreter::ExecCallBlock(const Node& node) {
  const Node& call = program_.nodes[node.a];
  KRAFLA_ASSIGN_OR_RETURN(Value callee, Eval(call.a));
  CallArgs args;
  KRAFLA_RETURN_IF_ERROR(EvalArguments(call.b, call.c, &args));
  args.named.emplace_back("caller", NewMacro(node.b));
  line_ = node.line;
  KRAFLA_ASSIGN_OR_RETURN(Value v, Call(callee, &args));
  KRAFLA_RETURN_IF_ERROR(AppendStr(*this, v, out_));
  return CheckOutput();
}

StatusOr<Value> Interpreter::CallMacro(const MacroObject& macro, CallArgs* args) {
  const Node& node = program_.nodes[macro.node];
  Nesting nesting(*this);
  if (nesting.too_deep()) return nesting.error();
  ScopeSwap swap(*this, NewScope(macro.closure));
  KRAFLA_RETURN_IF_ERROR(BindMacro(node, args));
  Text text;
  {
    OutputSwap output(*this, &text);
    Flow flow = Flow::kNormal;
    KRAFLA_RETURN_IF_ERROR(ExecBody(node.d, &flow));
  }
  return String(std::move(text));
}

Status Interpreter::BindMacro(const Node& node, CallArgs* args) {
  const std::string& macro = program_.symbols[node.a];
  std::span<const uint32_t> parameters = program_.List(node.b);
  std::span<const uint32_t> defaults = program_.List(node.c);
  std::vector<bool> used(args->named.size(), false);
  auto take_named = [&](std::string_view name) {
    Value v;
    for (size_t i = 0; i < used.size(); ++i) {
      if (used[i] || args->named[i].first != name) continue;
      used[i] = true;
      v = args->named[i].second;
    }
    return v;
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    const std::string& name = program_.symbols[parameters[i]];
    size_t from_end = parameters.size() - i;
    // Where there is a positional one, a named one as well goes to kwargs, or is one too many.
    Value v = i < args->positional.size() ? args->positional[i] : take_named(name);
    if (!v.given() && from_end <= defaults.size()) {
      KRAFLA_ASSIGN_OR_RETURN(v, Eval(defaults[defaults.size() - from_end]));
    } else if (!v.given()) {
      v = Undefined(FormatText("parameter '{}' was not provided", name));
    }
    scope_->Set(parameters[i], v);
  }
  if ((node.e & kUsesCaller) != 0 && scope_->Find(kSymbolCaller) == nullptr &&
      node.a != kSymbolCaller) {
    Value caller = take_named("caller");
    scope_->Set(kSymbolCaller, caller.given() ? caller : Undefined("no caller defined"));
  }
  if ((node.e & kUsesKwargs) != 0) {
    MapObject* rest = heap_.New<MapObject>(args->named.size() * sizeof(Value) * 3);
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i])
        rest->Set(String(std::string(args->named[i].first), i < args->n_own_named),
                  args->named[i].second);
      used[i] = true;
    }
    scope_->Set(kSymbolKwargs, Value::Of(Kind::kMap, rest));
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (!used[i]) return Error("macro '{}' takes no argument '{}'", macro, args->named[i].first);
  }
  bool too_many = args->positional.size() > parameters.size();
  if ((node.e & kUsesVarargs) != 0) {
    size_t taken = std::min(args->positional.size(), parameters.size());
    auto first = args->positional.begin() + static_cast<std::ptrdiff_t>(taken);
    scope_->Set(kSymbolVarargs, List({first, args->positional.end()}, ListStyle::kTuple));
  } else if (too_many) {
    return Error("macro '{}' takes at most {} arguments, got {}", macro, parameters.size(),
                 args->positional.size());
  }
  return OkStatus();
}

}  // namespace krafla::chat

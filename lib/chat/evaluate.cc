// Evaluation of expressions. Each operation has its own function so that the frame of Eval, which
// recurs, stays small; left-deep chains of + and the like are walked in a loop.
#include "lib/chat/access.h"
#include "lib/chat/arithmetic.h"
#include "lib/chat/compare.h"
#include "lib/chat/convert.h"
#include "lib/chat/interpreter.h"

namespace krafla::chat {

StatusOr<Value> Interpreter::Eval(NodeId id) {
  const Node& node = program_.nodes[id];
  line_ = node.line;
  KRAFLA_RETURN_IF_ERROR(Step());
  Nesting nesting(*this);
  if (nesting.too_deep()) return nesting.error();
  switch (node.op) {
    case Op::kConst:
      return program_.constants[node.a];
    case Op::kName:
      return EvalName(node);
    case Op::kList:
    case Op::kTuple:
      return EvalSequence(node);
    case Op::kDict:
      return EvalDict(node);
    case Op::kNot:
    case Op::kNegative:
    case Op::kPositive:
      return EvalUnary(node);
    case Op::kAnd:
    case Op::kOr:
      return EvalLogic(node);
    case Op::kConcat:
      return EvalConcat(node);
    case Op::kCompare:
      return EvalCompare(node);
    case Op::kCondition:
      return EvalCondition(node);
    case Op::kAttribute:
    case Op::kSubscript:
    case Op::kSlice:
      return EvalSubscript(node);
    case Op::kCall:
      return EvalCall(node);
    case Op::kFilter:
      return EvalFilter(node, nullptr);
    case Op::kTest:
      return EvalTest(node);
    default:
      return EvalArithmetic(id);
  }
}

StatusOr<Value> Interpreter::EvalName(const Node& node) {
  for (Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    if (Value* v = scope->Find(node.a)) return *v;
  }
  const std::string& name = program_.symbols[node.a];
  if (const Builtin* function = FindGlobal(name)) {
    Value v;
    v.kind = Kind::kFunction;
    v.builtin = function;
    return v;
  }
  return Undefined(FormatText("'{}' is undefined", name));
}

StatusOr<Value> Interpreter::EvalSequence(const Node& node) {
  std::vector<Value> items;
  for (NodeId id : program_.List(node.a)) {
    KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(id));
    items.push_back(v);
  }
  return List(std::move(items), node.op == Op::kTuple ? ListStyle::kTuple : ListStyle::kList);
}

StatusOr<Value> Interpreter::EvalDict(const Node& node) {
  std::span<const uint32_t> items = program_.List(node.a);
  MapObject* map = heap_.New<MapObject>(items.size() * sizeof(Value) * 3);
  for (size_t i = 0; i < items.size(); i += 2) {
    KRAFLA_ASSIGN_OR_RETURN(Value key, Eval(items[i]));
    if (key.Is(Kind::kList) || key.Is(Kind::kMap)) {
      return Error("unhashable type as a key: '{}'", TypeName(key));
    }
    KRAFLA_ASSIGN_OR_RETURN(Value value, Eval(items[i + 1]));
    map->Set(key, value);
  }
  return Value::Of(Kind::kMap, map);
}

StatusOr<Value> Interpreter::EvalUnary(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(node.a));
  if (node.op == Op::kNot) return Value::Bool(!Truthy(v));
  if (node.op == Op::kNegative) return Negate(*this, v);
  if (v.Is(Kind::kUndefined)) return UndefinedError(v);
  if (v.IsInteger()) return Value::Int(v.i);
  if (v.Is(Kind::kFloat)) return v;
  return Error("bad operand type for unary +: '{}'", TypeName(v));
}

StatusOr<Value> Interpreter::EvalLogic(const Node& node) {
  Value v;
  for (NodeId id : program_.List(node.a)) {
    KRAFLA_ASSIGN_OR_RETURN(v, Eval(id));
    if (Truthy(v) == (node.op == Op::kOr)) break;
  }
  return v;
}

StatusOr<Value> Interpreter::EvalConcat(const Node& node) {
  Text out;
  for (NodeId id : program_.List(node.a)) {
    KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(id));
    KRAFLA_RETURN_IF_ERROR(AppendStr(*this, v, &out));
    KRAFLA_RETURN_IF_ERROR(CheckRoom(out.memory()));
  }
  return String(std::move(out));
}

bool Interpreter::IsArithmetic(NodeId id) const {
  Op op = program_.nodes[id].op;
  return op >= Op::kAdd && op <= Op::kPower;
}

StatusOr<Value> Interpreter::EvalArithmetic(NodeId id) {
  std::vector<NodeId> chain;
  for (; IsArithmetic(id); id = program_.nodes[id].a) chain.push_back(id);
  KRAFLA_ASSIGN_OR_RETURN(Value left, Eval(id));
  for (size_t i = chain.size(); i-- > 0;) {
    const Node& node = program_.nodes[chain[i]];
    KRAFLA_ASSIGN_OR_RETURN(Value right, Eval(node.b));
    line_ = node.line;
    KRAFLA_ASSIGN_OR_RETURN(left, Arithmetic(*this, node.op, left, right));
  }
  return left;
}

StatusOr<Value> Interpreter::EvalCompare(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value left, Eval(node.a));
  std::span<const uint32_t> operands = program_.List(node.b);
  for (size_t i = 0; i < operands.size(); i += 2) {
    KRAFLA_ASSIGN_OR_RETURN(Value right, Eval(operands[i + 1]));
    line_ = node.line;
    KRAFLA_ASSIGN_OR_RETURN(
        bool holds, CompareValues(*this, static_cast<Comparison>(operands[i]), left, right));
    if (!holds) return Value::Bool(false);
    left = right;
  }
  return Value::Bool(true);
}

StatusOr<Value> Interpreter::EvalCondition(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value condition, Eval(node.b));
  if (Truthy(condition)) return Eval(node.a);
  if (node.c != kNoNode) return Eval(node.c);
  return Undefined("the inline if-expression evaluated to false and no else section was defined");
}

StatusOr<Value> Interpreter::EvalSubscript(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value object, Eval(node.a));
  line_ = node.line;
  if (node.op == Op::kAttribute) return GetAttribute(*this, object, program_.symbols[node.b]);
  if (node.op == Op::kSubscript) {
    KRAFLA_ASSIGN_OR_RETURN(Value index, Eval(node.b));
    line_ = node.line;
    return GetItem(*this, object, index);
  }
  Value bounds[3];
  const NodeId ids[3] = {node.b, node.c, node.d};
  for (int i = 0; i < 3; ++i) {
    if (ids[i] == kNoNode) continue;
    KRAFLA_ASSIGN_OR_RETURN(bounds[i], Eval(ids[i]));
  }
  line_ = node.line;
  return GetSlice(*this, object, bounds[0], bounds[1], bounds[2]);
}

Status Interpreter::EvalArguments(ListId positional, ListId named, CallArgs* args) {
  for (NodeId id : program_.List(positional)) {
    const Node& node = program_.nodes[id];
    KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(node.op == Op::kSpread ? node.a : id));
    if (node.op == Op::kSpread) {
      line_ = node.line;
      KRAFLA_ASSIGN_OR_RETURN(const std::vector<Value> items, Items(*this, v));
      args->positional.insert(args->positional.end(), items.begin(), items.end());
    } else {
      args->positional.push_back(v);
    }
  }
  std::span<const uint32_t> pairs = program_.List(named);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    KRAFLA_ASSIGN_OR_RETURN(Value v, Eval(pairs[i + 1]));
    if (pairs[i] == kSymbolSpread) {
      KRAFLA_RETURN_IF_ERROR(SpreadNamed(v, args));
      continue;
    }
    args->named.emplace_back(program_.symbols[pairs[i]], v);
  }
  return OkStatus();
}

// **dict: its names come from whoever made the dict.
Status Interpreter::SpreadNamed(const Value& dict, CallArgs* args) {
  if (!dict.Is(Kind::kMap))
    return Error("argument after ** must be a dict, not a {}", TypeName(dict));
  args->n_own_named = args->named.size();
  for (const auto& [key, value] : dict.As<MapObject>().entries) {
    if (!key.Is(Kind::kString)) return Error("the names of a ** argument must be strings");
    const std::string_view name = key.text().view();
    for (size_t i = 0; i < args->n_own_named; ++i) {
      if (args->named[i].first == name) return Error("argument '{}' given twice", name);
    }
    args->named.emplace_back(name, value);
  }
  return OkStatus();
}

StatusOr<Value> Interpreter::EvalCall(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value callee, Eval(node.a));
  CallArgs args;
  KRAFLA_RETURN_IF_ERROR(EvalArguments(node.b, node.c, &args));
  line_ = node.line;
  return Call(callee, &args);
}

StatusOr<Value> Interpreter::Call(const Value& callee, CallArgs* args) {
  switch (callee.kind) {
    case Kind::kUndefined:
      return UndefinedError(callee);
    case Kind::kFunction:
      return Invoke(*this, "function", *callee.builtin, Value(), args);
    case Kind::kMethod: {
      const MethodObject& method = callee.As<MethodObject>();
      return Invoke(*this, "method", *method.builtin, method.self, args);
    }
    case Kind::kMacro:
      return CallMacro(callee.As<MacroObject>(), args);
    case Kind::kJoiner: {
      CyclerObject& joiner = callee.As<CyclerObject>();
      return joiner.next++ == 0 ? String("", true) : joiner.items[0];
    }
    case Kind::kLoop:
      return Error("unsupported call of 'loop': recursive loops");
    default:
      return Error("'{}' object is not callable", TypeName(callee));
  }
}

StatusOr<Value> Interpreter::EvalFilter(const Node& node, const Value* subject) {
  Value value;
  if (node.a != kNoNode) {
    KRAFLA_ASSIGN_OR_RETURN(value, Eval(node.a));
  } else if (subject != nullptr) {
    value = *subject;
  }
  CallArgs args;
  KRAFLA_RETURN_IF_ERROR(EvalArguments(node.b, node.c, &args));
  line_ = node.line;
  return Invoke(*this, "filter", *FilterAt(node.d), value, &args);
}

StatusOr<Value> Interpreter::EvalFilterChain(NodeId id, const Value& subject) {
  // The chain of a block tag: its innermost filter has no subject of its own.
  std::vector<NodeId> chain;
  for (; id != kNoNode; id = program_.nodes[id].a) chain.push_back(id);
  Value value = subject;
  for (size_t i = chain.size(); i-- > 0;) {
    Node node = program_.nodes[chain[i]];
    node.a = kNoNode;
    KRAFLA_ASSIGN_OR_RETURN(value, EvalFilter(node, &value));
  }
  return value;
}

StatusOr<Value> Interpreter::EvalTest(const Node& node) {
  KRAFLA_ASSIGN_OR_RETURN(Value subject, Eval(node.a));
  CallArgs args;
  KRAFLA_RETURN_IF_ERROR(EvalArguments(node.b, node.c, &args));
  line_ = node.line;
  return Invoke(*this, "test", *TestAt(node.d), subject, &args);
}

}  // namespace krafla::chat

// Renders one Program once. Holds the scopes, the output and the counters behind the limits, and
// offers what filters, tests and methods need: errors with the line, steps, room checks, new
// values.
#ifndef KRAFLA_LIB_CHAT_INTERPRETER_H_
#define KRAFLA_LIB_CHAT_INTERPRETER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/chat/ast.h"
#include "lib/chat/registry.h"
#include "lib/chat/template.h"
#include "lib/chat/value.h"

namespace krafla::chat {

class Interpreter {
 public:
  Interpreter(const Program& program, const TemplateLimits& limits, const TemplateClock& clock);

  void SetVariable(std::string_view name, const Value& value);
  Status Run(Text* out);

  // For builtins.
  Heap& heap() { return heap_; }
  const TemplateLimits& limits() const { return limits_; }
  const TemplateClock& clock() const { return clock_; }

  template <typename... Args>
  Status Error(fmt::format_string<Args...> format, Args&&... args) {
    return TemplateError("chat template, line {}: {}", line_,
                         FormatText(format, std::forward<Args>(args)...));
  }
  // Counts work; an error past the limit of steps or of value memory.
  Status Step(size_t n = 1) {
    steps_ += n;
    if (steps_ > limits_.steps || heap_.bytes() > limits_.value_bytes) return LimitError();
    return OkStatus();
  }
  // To be called before making something that may be far larger than what it is made from.
  Status CheckRoom(size_t bytes);
  Status CheckRoom(size_t count, size_t bytes_each);

  Value String(Text text);
  Value String(std::string bytes, bool trusted) { return String(Text(std::move(bytes), trusted)); }
  Value List(std::vector<Value> items, ListStyle style = ListStyle::kList);
  Value Generator(std::vector<Value> items);
  Value Undefined(std::string message);
  // Any use of an undefined value fails with its own message.
  Status UndefinedError(const Value& v);

  // callee(args): function, method, macro, loop-independent callables.
  StatusOr<Value> Call(const Value& callee, CallArgs* args);

 private:
  friend class Nesting;
  friend class ScopeSwap;
  friend class OutputSwap;
  enum class Flow : uint8_t { kNormal, kBreak, kContinue };

  Status LimitError();

  // evaluate.cc
  StatusOr<Value> Eval(NodeId id);
  StatusOr<Value> EvalName(const Node& node);
  StatusOr<Value> EvalSequence(const Node& node);
  StatusOr<Value> EvalDict(const Node& node);
  StatusOr<Value> EvalUnary(const Node& node);
  StatusOr<Value> EvalLogic(const Node& node);
  StatusOr<Value> EvalConcat(const Node& node);
  StatusOr<Value> EvalArithmetic(NodeId id);
  StatusOr<Value> EvalCompare(const Node& node);
  StatusOr<Value> EvalCondition(const Node& node);
  StatusOr<Value> EvalSubscript(const Node& node);
  StatusOr<Value> EvalCall(const Node& node);
  StatusOr<Value> EvalFilter(const Node& node, const Value* subject);
  StatusOr<Value> EvalTest(const Node& node);
  Status EvalArguments(ListId positional, ListId named, CallArgs* args);
  Status SpreadNamed(const Value& dict, CallArgs* args);
  StatusOr<Value> EvalFilterChain(NodeId id, const Value& subject);
  bool IsArithmetic(NodeId id) const;

  // execute.cc
  Status ExecBody(ListId body, Flow* flow);
  Status Exec(NodeId id, Flow* flow);
  Status ExecOutput(const Node& node);
  Status ExecFor(const Node& node, Flow* flow);
  Status ExecIf(const Node& node, Flow* flow);
  Status ExecSetBlock(const Node& node, Flow* flow);
  Status ExecFilterBlock(const Node& node, Flow* flow);
  Status ExecWith(const Node& node, Flow* flow);
  Status ExecScope(ListId body, Flow* flow);
  Status ExecCallBlock(const Node& node);
  StatusOr<Value> Capture(ListId body, Flow* flow);
  StatusOr<std::vector<Value>> LoopItems(const Node& node);
  Status Assign(NodeId target, const Value& value);
  Value NewMacro(NodeId id);
  StatusOr<Value> CallMacro(const MacroObject& macro, CallArgs* args);
  Status BindMacro(const Node& node, CallArgs* args);
  Scope* NewScope(Scope* parent);
  Status CheckOutput();

  const Program& program_;
  const TemplateLimits& limits_;
  TemplateClock clock_;
  Heap heap_;
  Scope* scope_ = nullptr;
  Text* out_ = nullptr;
  uint64_t steps_ = 0;
  uint32_t depth_ = 0;
  uint32_t line_ = 1;
};

// One level of nesting for as long as it lives; check status() first.
class Nesting {
 public:
  explicit Nesting(Interpreter& in) : in_(in) { ++in_.depth_; }
  ~Nesting() { --in_.depth_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  bool too_deep() const { return in_.depth_ > in_.limits_.depth; }
  Status error() const { return in_.Error("nested deeper than {} levels", in_.limits_.depth); }

 private:
  Interpreter& in_;
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_INTERPRETER_H_

// Limits, value construction and the top of a render.
#include "lib/chat/interpreter.h"

namespace krafla::chat {

Interpreter::Interpreter(const Program& program, const TemplateLimits& limits,
                         const TemplateClock& clock)
    : program_(program), limits_(limits), clock_(clock) {
  scope_ = NewScope(nullptr);
}

void Interpreter::SetVariable(std::string_view name, const Value& value) {
  // A name the template never mentions cannot be asked for.
  auto it = program_.symbol_ids.find(name);
  if (it != program_.symbol_ids.end()) scope_->Set(it->second, value);
}

Status Interpreter::Run(Text* out) {
  out_ = out;
  Flow flow = Flow::kNormal;
  return ExecBody(program_.root, &flow);
}

Status Interpreter::LimitError() {
  if (heap_.bytes() > limits_.value_bytes) {
    return Error("values take more than {} bytes", limits_.value_bytes);
  }
  return Error("more than {} evaluation steps", limits_.steps);
}

Status Interpreter::CheckRoom(size_t bytes) {
  if (bytes > limits_.value_bytes || heap_.bytes() > limits_.value_bytes - bytes) {
    return Error("values take more than {} bytes", limits_.value_bytes);
  }
  return Step(bytes / 1024);
}

Status Interpreter::CheckRoom(size_t count, size_t bytes_each) {
  if (bytes_each != 0 && count > limits_.value_bytes / bytes_each) {
    return Error("values take more than {} bytes", limits_.value_bytes);
  }
  return CheckRoom(count * bytes_each);
}

Value Interpreter::String(Text text) {
  size_t bytes = text.memory();
  steps_ += bytes / 1024;
  return Value::Of(Kind::kString, heap_.New<StringObject>(bytes, std::move(text)));
}

Value Interpreter::List(std::vector<Value> items, ListStyle style) {
  ListObject* list = heap_.New<ListObject>(items.size() * sizeof(Value));
  steps_ += items.size() / 64;
  list->style = style;
  list->items = std::move(items);
  return Value::Of(Kind::kList, list);
}

Value Interpreter::Generator(std::vector<Value> items) {
  GeneratorObject* generator = heap_.New<GeneratorObject>(items.size() * sizeof(Value));
  generator->items = std::move(items);
  return Value::Of(Kind::kGenerator, generator);
}

Value Interpreter::Undefined(std::string message) {
  UndefinedObject* undefined = heap_.New<UndefinedObject>(message.size());
  undefined->message = std::move(message);
  return Value::Of(Kind::kUndefined, undefined);
}

Status Interpreter::UndefinedError(const Value& v) {
  return Error("{}", v.As<UndefinedObject>().message);
}

Scope* Interpreter::NewScope(Scope* parent) {
  Scope* scope = heap_.New<Scope>(64);
  scope->parent = parent;
  return scope;
}

}  // namespace krafla::chat

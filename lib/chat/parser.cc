// Token handling and node building of the parser.
#include "lib/chat/parser.h"

namespace krafla::chat {

Parser::Parser(std::vector<Token> tokens, uint32_t max_depth)
    : tokens_(std::move(tokens)), max_depth_(max_depth), program_(std::make_unique<Program>()) {
  program_->lists.push_back(0);  // ListId 0: the empty list
  for (std::string_view name : {"loop", "caller", "varargs", "kwargs"}) Symbol(name);
}

StatusOr<std::unique_ptr<Program>> Parser::Run() {
  program_->root = ParseBody({});
  if (failed()) return status_;
  return std::move(program_);
}

bool Parser::IsOperator(std::string_view op) const {
  return Current().type == TokenType::kOperator && Current().text == op;
}
bool Parser::IsName(std::string_view name) const {
  return Current().type == TokenType::kName && Current().text == name;
}
bool Parser::AcceptOperator(std::string_view op) {
  if (!IsOperator(op)) return false;
  Advance();
  return true;
}
bool Parser::AcceptName(std::string_view name) {
  if (!IsName(name)) return false;
  Advance();
  return true;
}
void Parser::ExpectOperator(std::string_view op) {
  if (!AcceptOperator(op)) Unexpected(FormatText("'{}'", op));
}
std::string_view Parser::ExpectName() {
  if (Current().type != TokenType::kName) {
    Unexpected("a name");
    return {};
  }
  std::string_view name = Current().text;
  Advance();
  return name;
}
void Parser::ExpectBlockEnd() {
  if (Current().type != TokenType::kBlockEnd) {
    Unexpected("'%}'");
  } else {
    Advance();
  }
}

NodeId Parser::Unexpected(std::string_view wanted) {
  const Token& token = Current();
  switch (token.type) {
    case TokenType::kEnd:
      return Fail(token.line, "unexpected end of template, expected {}", wanted);
    case TokenType::kVariableEnd:
    case TokenType::kBlockEnd:
      return Fail(token.line, "unexpected end of tag, expected {}", wanted);
    case TokenType::kString:
      return Fail(token.line, "unexpected string, expected {}", wanted);
    default:
      return Fail(token.line, "unexpected '{}', expected {}", token.text, wanted);
  }
}

NodeId Parser::Add(Op op, uint32_t line, uint32_t a, uint32_t b, uint32_t c, uint32_t d,
                   uint32_t e) {
  if (failed()) return kNoNode;
  program_->nodes.push_back({op, line, a, b, c, d, e});
  return static_cast<NodeId>(program_->nodes.size() - 1);
}

ListId Parser::AddList(const std::vector<uint32_t>& items) {
  if (items.empty()) return 0;
  std::vector<uint32_t>& lists = program_->lists;
  ListId id = static_cast<ListId>(lists.size());
  lists.push_back(static_cast<uint32_t>(items.size()));
  lists.insert(lists.end(), items.begin(), items.end());
  return id;
}

uint32_t Parser::AddConstant(const Value& value) {
  program_->constants.push_back(value);
  return static_cast<uint32_t>(program_->constants.size() - 1);
}

uint32_t Parser::AddString(std::string bytes) {
  Object* object = program_->heap.New<StringObject>(0, Text(std::move(bytes), true));
  return AddConstant(Value::Of(Kind::kString, object));
}

uint32_t Parser::Symbol(std::string_view name) {
  if (auto it = program_->symbol_ids.find(name); it != program_->symbol_ids.end())
    return it->second;
  uint32_t id = static_cast<uint32_t>(program_->symbols.size());
  program_->symbols.emplace_back(name);
  program_->symbol_ids.emplace(name, id);
  return id;
}

}  // namespace krafla::chat

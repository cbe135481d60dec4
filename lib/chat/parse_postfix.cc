// What follows an operand: attributes, indices, calls with their arguments, filters and tests. A
// name that is no filter or test is refused here, so that a template fails when it is opened.
#include <string_view>
#include <vector>

#include "lib/chat/parser.h"
#include "lib/chat/registry.h"

namespace krafla::chat {

NodeId Parser::ParsePostfix(NodeId node) {
  while (!failed()) {
    if (IsOperator(".") || IsOperator("[")) {
      node = ParseSubscript(node);
    } else if (IsOperator("(")) {
      node = ParseCall(node);
    } else {
      break;
    }
  }
  return node;
}

NodeId Parser::ParseFilters(NodeId node) {
  while (!failed()) {
    if (AcceptOperator("|")) {
      node = ParseFilter(node);
    } else if (IsName("is")) {
      node = ParseTest(node);
    } else if (IsOperator("(")) {
      node = ParseCall(node);
    } else {
      break;
    }
  }
  return node;
}

NodeId Parser::ParseSubscript(NodeId node) {
  uint32_t line = Current().line;
  if (AcceptOperator(".")) {
    if (Current().type == TokenType::kInteger) {
      NodeId index = ParseNumber();
      return Add(Op::kSubscript, line, node, index);
    }
    std::string_view name = ExpectName();
    return failed() ? kNoNode : Add(Op::kAttribute, line, node, Symbol(name));
  }
  Advance();
  NodeId start = IsOperator(":") ? kNoNode : ParseExpression();
  if (!IsOperator(":")) {
    ExpectOperator("]");
    return Add(Op::kSubscript, line, node, start);
  }
  Advance();
  NodeId stop = IsOperator(":") || IsOperator("]") ? kNoNode : ParseExpression();
  NodeId step = kNoNode;
  if (AcceptOperator(":") && !IsOperator("]")) step = ParseExpression();
  ExpectOperator("]");
  return Add(Op::kSlice, line, node, start, stop, step);
}

Parser::Arguments Parser::ParseArguments() {
  uint32_t line = Current().line;
  ExpectOperator("(");
  std::vector<uint32_t> positional;
  std::vector<uint32_t> named;
  bool spread = false, spread_named = false;
  while (!failed() && !IsOperator(")")) {
    if (spread_named) Fail(line, "argument behind a '**' argument");
    if (IsOperator("*")) {
      if (spread) Fail(line, "second '*' argument in a call");
      spread = true;
      Advance();
      positional.push_back(Add(Op::kSpread, line, ParseExpression()));
    } else if (IsOperator("**")) {
      spread_named = true;
      Advance();
      named.push_back(kSymbolSpread);
      named.push_back(ParseExpression());
    } else if (Current().type == TokenType::kName && Next().type == TokenType::kOperator &&
               Next().text == "=") {
      named.push_back(Symbol(Current().text));
      Advance();
      Advance();
      named.push_back(ParseExpression());
    } else {
      if (!named.empty() || spread) Fail(line, "positional argument after a named or '*' one");
      positional.push_back(ParseExpression());
    }
    if (!AcceptOperator(",")) break;
  }
  ExpectOperator(")");
  return {AddList(positional), AddList(named)};
}

NodeId Parser::ParseCall(NodeId callee) {
  uint32_t line = Current().line;
  Arguments arguments = ParseArguments();
  return Add(Op::kCall, line, callee, arguments.positional, arguments.named);
}

NodeId Parser::ParseFilter(NodeId subject) {
  uint32_t line = Current().line;
  std::string_view name = ExpectName();
  if (failed()) return kNoNode;
  const Builtin* filter = FindFilter(name);
  if (filter == nullptr) return Fail(line, "unsupported filter '{}'", name);
  Arguments arguments;
  if (IsOperator("(")) arguments = ParseArguments();
  return Add(Op::kFilter, line, subject, arguments.positional, arguments.named,
             FilterIndex(filter));
}

NodeId Parser::ParseTest(NodeId subject) {
  uint32_t line = Current().line;
  Advance();
  bool negated = AcceptName("not");
  std::string_view name = ExpectName();
  if (failed()) return kNoNode;
  const Builtin* test = FindTest(name);
  if (test == nullptr) return Fail(line, "unsupported test '{}'", name);
  Arguments arguments;
  TokenType type = Current().type;
  bool literal =
      type == TokenType::kString || type == TokenType::kInteger || type == TokenType::kFloat;
  bool is_word = type == TokenType::kName;
  for (std::string_view word : {"else", "or", "and"}) is_word = is_word && !IsName(word);
  if (IsOperator("(")) {
    arguments = ParseArguments();
  } else if (literal || is_word || IsOperator("[") || IsOperator("{")) {
    if (IsName("is")) return Fail(line, "tests cannot be chained with 'is'");
    NodeId argument = ParsePostfix(ParsePrimary());
    arguments.positional = AddList({argument});
  }
  NodeId node =
      Add(Op::kTest, line, subject, arguments.positional, arguments.named, TestIndex(test));
  return negated ? Add(Op::kNot, line, node) : node;
}

}  // namespace krafla::chat

// Statements: the tags between {% and %}.
#include <algorithm>

#include "lib/chat/parser.h"

namespace krafla::chat {

ListId Parser::ParseBody(Ends ends) {
  ParseDepth depth(this);
  std::vector<uint32_t> body;
  while (!failed()) {
    const Token token = Current();
    if (token.type == TokenType::kText) {
      Advance();
      body.push_back(Add(Op::kText, token.line, AddString(std::string(token.text))));
    } else if (token.type == TokenType::kVariableBegin) {
      Advance();
      NodeId expression = ParseTuple(true, "", false);
      body.push_back(Add(Op::kOutput, token.line, expression));
      if (!failed() && Current().type != TokenType::kVariableEnd) Unexpected("'}}'");
      Advance();
    } else if (token.type == TokenType::kBlockBegin) {
      Advance();
      for (std::string_view end : ends) {
        if (IsName(end)) return AddList(body);
      }
      body.push_back(ParseStatement());
      if (!failed()) ExpectBlockEnd();
    } else {  // kEnd
      if (ends.size() == 0) return AddList(body);
      Unexpected(FormatText("'{}'", *(ends.end() - 1)));
    }
  }
  return 0;
}

NodeId Parser::ParseStatement() {
  uint32_t line = Current().line;
  if (Current().type != TokenType::kName) return Unexpected("the name of a tag");
  std::string_view tag = Current().text;
  Advance();
  if (tag == "for") return ParseFor(line);
  if (tag == "if") return ParseIf(line);
  if (tag == "set") return ParseSet(line);
  if (tag == "macro") return ParseMacro(line);
  if (tag == "call") return ParseCallBlock(line);
  if (tag == "filter") return ParseFilterBlock(line);
  if (tag == "with") return ParseWith(line);
  if (tag == "generation") return ParseGeneration(line);
  if (tag == "break") return ParseLoopControl(line, Op::kBreak);
  if (tag == "continue") return ParseLoopControl(line, Op::kContinue);
  for (std::string_view known :
       {"include", "import", "from", "extends", "block", "autoescape", "do", "trans", "debug"}) {
    if (tag == known) return Fail(line, "unsupported tag '{}'", tag);
  }
  return Fail(line, "unknown tag '{}'", tag);
}

NodeId Parser::ParseFor(uint32_t line) {
  NodeId target = ParseTarget("in", false);
  if (!failed() && !AcceptName("in")) Unexpected("'in'");
  NodeId iterable = ParseTuple(false, "recursive", false);
  NodeId filter = AcceptName("if") ? ParseExpression() : kNoNode;
  if (IsName("recursive")) return Fail(line, "unsupported 'recursive' in tag 'for'");
  ExpectBlockEnd();
  ++loop_depth_;
  ListId body = ParseBody({"else", "endfor"});
  --loop_depth_;
  ListId otherwise = 0;
  if (AcceptName("else")) {
    ExpectBlockEnd();
    otherwise = ParseBody({"endfor"});
  }
  Advance();
  return Add(Op::kFor, line, target, iterable, filter, body, otherwise);
}

NodeId Parser::ParseIf(uint32_t line) {
  std::vector<uint32_t> branches;
  while (!failed()) {
    branches.push_back(ParseTuple(false, "", false));
    ExpectBlockEnd();
    branches.push_back(ParseBody({"elif", "else", "endif"}));
    if (AcceptName("elif")) continue;
    if (AcceptName("else")) {
      ExpectBlockEnd();
      branches.push_back(kNoNode);
      branches.push_back(ParseBody({"endif"}));
    }
    break;
  }
  Advance();
  return Add(Op::kIf, line, AddList(branches));
}

NodeId Parser::ParseSet(uint32_t line) {
  NodeId target = ParseTarget("", true);
  if (AcceptOperator("=")) {
    NodeId value = ParseTuple(true, "", false);
    return Add(Op::kSet, line, target, value);
  }
  NodeId filters = kNoNode;
  while (!failed() && AcceptOperator("|")) filters = ParseFilter(filters);
  ExpectBlockEnd();
  ListId body = ParseBody({"endset"});
  Advance();
  return Add(Op::kSetBlock, line, target, filters, body);
}

NodeId Parser::ParseMacro(uint32_t line) {
  std::string_view name = ExpectName();
  if (failed()) return kNoNode;
  return ParseMacroRest(line, Symbol(name), true, "endmacro");
}

NodeId Parser::ParseMacroRest(uint32_t line, uint32_t symbol, bool signature,
                              std::string_view end) {
  std::vector<uint32_t> parameters;
  std::vector<uint32_t> defaults;
  if (signature) {
    ExpectOperator("(");
    while (!failed() && !IsOperator(")")) {
      uint32_t parameter = Symbol(ExpectName());
      if (std::find(parameters.begin(), parameters.end(), parameter) != parameters.end()) {
        Fail(line, "parameter '{}' named twice", program_->symbols[parameter]);
      }
      parameters.push_back(parameter);
      if (AcceptOperator("=")) {
        defaults.push_back(ParseExpression());
      } else if (!defaults.empty()) {
        Fail(line, "parameter without a default after one with a default");
      }
      if (!AcceptOperator(",")) break;
    }
    ExpectOperator(")");
  }
  // The expression of a call block stands between signature and body.
  NodeId call = kNoNode;
  if (end == "endcall") {
    call = ParseExpression();
    if (!failed() && program_->nodes[call].op != Op::kCall)
      return Fail(line, "tag 'call' wants a call");
  }
  ExpectBlockEnd();
  uint32_t outer_use = std::exchange(macro_use_, 0);
  uint32_t outer_loops = std::exchange(loop_depth_, 0);
  ListId body = ParseBody({end});
  uint32_t use = std::exchange(macro_use_, outer_use);
  // What an inner macro mentions may belong to the outer one.
  macro_use_ |= use;
  loop_depth_ = outer_loops;
  Advance();
  NodeId macro = Add(Op::kMacro, line, symbol, AddList(parameters), AddList(defaults), body, use);
  return end == "endcall" ? Add(Op::kCallBlock, line, call, macro) : macro;
}

NodeId Parser::ParseCallBlock(uint32_t line) {
  return ParseMacroRest(line, kSymbolCaller, IsOperator("("), "endcall");
}

NodeId Parser::ParseFilterBlock(uint32_t line) {
  NodeId filters = ParseFilter(kNoNode);
  while (!failed() && AcceptOperator("|")) filters = ParseFilter(filters);
  ExpectBlockEnd();
  ListId body = ParseBody({"endfilter"});
  Advance();
  return Add(Op::kFilterBlock, line, filters, body);
}

NodeId Parser::ParseWith(uint32_t line) {
  std::vector<uint32_t> assignments;
  while (!failed() && Current().type != TokenType::kBlockEnd) {
    if (!assignments.empty()) ExpectOperator(",");
    assignments.push_back(ParseTarget("", false));
    ExpectOperator("=");
    assignments.push_back(ParseExpression());
  }
  ExpectBlockEnd();
  ListId body = ParseBody({"endwith"});
  Advance();
  return Add(Op::kWith, line, AddList(assignments), body);
}

NodeId Parser::ParseGeneration(uint32_t line) {
  // Marks what the assistant wrote, for training masks; here it only opens a scope.
  ExpectBlockEnd();
  uint32_t outer_loops = std::exchange(loop_depth_, 0);
  ListId body = ParseBody({"endgeneration"});
  loop_depth_ = outer_loops;
  Advance();
  return Add(Op::kScope, line, body);
}

NodeId Parser::ParseLoopControl(uint32_t line, Op op) {
  if (loop_depth_ == 0) {
    return Fail(line, "tag '{}' outside of a loop", op == Op::kBreak ? "break" : "continue");
  }
  return Add(op, line);
}

NodeId Parser::ParseTarget(std::string_view end_name, bool with_namespace) {
  uint32_t line = Current().line;
  std::vector<uint32_t> targets;
  bool is_tuple = false;
  while (!failed()) {
    if (!targets.empty() && (TupleEnds(end_name) || IsOperator("="))) break;
    targets.push_back(ParseSingleTarget(with_namespace));
    if (!AcceptOperator(",")) break;
    is_tuple = true;
  }
  if (failed()) return kNoNode;
  return is_tuple ? Add(Op::kTuple, line, AddList(targets)) : targets[0];
}

NodeId Parser::ParseSingleTarget(bool with_namespace) {
  ParseDepth depth(this);
  if (failed()) return kNoNode;
  uint32_t line = Current().line;
  if (AcceptOperator("(")) {
    NodeId target = ParseTarget("", with_namespace);
    ExpectOperator(")");
    return target;
  }
  std::string_view name = ExpectName();
  if (failed()) return kNoNode;
  for (std::string_view reserved : {"true", "false", "none", "True", "False", "None"}) {
    if (name == reserved) return Fail(line, "cannot assign to '{}'", name);
  }
  if (with_namespace && AcceptOperator(".")) {
    std::string_view attribute = ExpectName();
    return failed() ? kNoNode : Add(Op::kNamespaceTarget, line, Symbol(name), Symbol(attribute));
  }
  return Add(Op::kName, line, Symbol(name));
}

}  // namespace krafla::chat

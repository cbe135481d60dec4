// Parses tokens into a Program. Precedence climbing for expressions, one function a statement;
// every function that can nest counts its depth, so hostile source meets an error, not the end of
// the stack.
#ifndef KRAFLA_LIB_CHAT_PARSER_H_
#define KRAFLA_LIB_CHAT_PARSER_H_

#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/chat/ast.h"
#include "lib/chat/lexer.h"

namespace krafla::chat {

// After a failure every function returns kNoNode (or 0) at once and status() tells the first error.
class Parser {
 public:
  Parser(std::vector<Token> tokens, uint32_t max_depth);

  StatusOr<std::unique_ptr<Program>> Run();

 private:
  using Ends = std::initializer_list<std::string_view>;
  struct Arguments {
    ListId positional = 0;
    ListId named = 0;
  };

  // Tokens (parser.cc).
  const Token& Current() const { return tokens_[position_]; }
  const Token& Next() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  void Advance() {
    if (position_ + 1 < tokens_.size()) ++position_;
  }
  bool IsOperator(std::string_view op) const;
  bool IsName(std::string_view name) const;
  bool AcceptOperator(std::string_view op);
  bool AcceptName(std::string_view name);
  void ExpectOperator(std::string_view op);
  std::string_view ExpectName();
  void ExpectBlockEnd();
  template <typename... Args>
  NodeId Fail(uint32_t line, fmt::format_string<Args...> format, Args&&... args) {
    if (status_.ok()) {
      status_ = TemplateError("chat template, line {}: {}", line,
                              FormatText(format, std::forward<Args>(args)...));
    }
    return kNoNode;
  }
  NodeId Unexpected(std::string_view wanted);
  bool failed() const { return !status_.ok(); }

  // Building (parser.cc).
  NodeId Add(Op op, uint32_t line, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0, uint32_t d = 0,
             uint32_t e = 0);
  ListId AddList(const std::vector<uint32_t>& items);
  uint32_t AddConstant(const Value& value);
  uint32_t AddString(std::string bytes);
  uint32_t Symbol(std::string_view name);

  // Expressions (parse_expression.cc, parse_postfix.cc).
  NodeId ParseTuple(bool with_condition, std::string_view end_name, bool parenthesised);
  NodeId ParseExpression(bool with_condition = true);
  NodeId ParseBinary(int min_precedence);
  NodeId ParseComparison(NodeId first);
  NodeId ParseUnary(bool with_filter);
  NodeId ParsePrimary();
  NodeId ParseNumber();
  NodeId ParseStrings();
  NodeId ParseListLiteral();
  NodeId ParseDictLiteral();
  NodeId ParsePostfix(NodeId node);
  NodeId ParseFilters(NodeId node);
  NodeId ParseSubscript(NodeId node);
  NodeId ParseFilter(NodeId subject);
  NodeId ParseTest(NodeId subject);
  NodeId ParseCall(NodeId callee);
  Arguments ParseArguments();
  bool TupleEnds(std::string_view end_name) const;

  // Statements (parse_statement.cc).
  ListId ParseBody(Ends ends);
  NodeId ParseStatement();
  NodeId ParseFor(uint32_t line);
  NodeId ParseIf(uint32_t line);
  NodeId ParseSet(uint32_t line);
  NodeId ParseMacro(uint32_t line);
  NodeId ParseMacroRest(uint32_t line, uint32_t symbol, bool signature, std::string_view end);
  NodeId ParseCallBlock(uint32_t line);
  NodeId ParseFilterBlock(uint32_t line);
  NodeId ParseWith(uint32_t line);
  NodeId ParseGeneration(uint32_t line);
  NodeId ParseLoopControl(uint32_t line, Op op);
  NodeId ParseTarget(std::string_view end_name, bool with_namespace);
  NodeId ParseSingleTarget(bool with_namespace);

  std::vector<Token> tokens_;
  size_t position_ = 0;
  uint32_t max_depth_;
  uint32_t depth_ = 0;
  uint32_t loop_depth_ = 0;
  uint32_t macro_use_ = 0;  // special names seen in the macro being parsed
  Status status_;
  std::unique_ptr<Program> program_;

  friend class ParseDepth;
};

// Counts one level of nesting for as long as it lives.
class ParseDepth {
 public:
  explicit ParseDepth(Parser* parser) : parser_(parser) {
    if (++parser_->depth_ > parser_->max_depth_) {
      parser_->Fail(parser_->Current().line, "nested deeper than {} levels", parser_->max_depth_);
    }
  }
  ~ParseDepth() { --parser_->depth_; }
  ParseDepth(const ParseDepth&) = delete;
  ParseDepth& operator=(const ParseDepth&) = delete;

 private:
  Parser* parser_;
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_PARSER_H_

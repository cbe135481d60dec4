// Expressions. Precedence, loosest first: `if else`, or, and, not, comparisons, + -, ~, * / // %,
// **, unary sign, postfix (attribute, index, call), filters and tests: those of Jinja, not of
// Python. From postfix on: parse_postfix.cc.
#include <charconv>

#include "lib/base/utf8.h"
#include "lib/chat/parser.h"

namespace krafla::chat {
namespace {

enum Precedence {
  kOrLevel = 1,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kSumLevel,
  kConcatLevel,
  kProductLevel,
  kPowerLevel
};

struct Arithmetic {
  std::string_view text;
  int precedence;
  Op op;
};
constexpr Arithmetic kArithmetic[] = {
    {"+", kSumLevel, Op::kAdd},
    {"-", kSumLevel, Op::kSubtract},
    {"*", kProductLevel, Op::kMultiply},
    {"/", kProductLevel, Op::kDivide},
    {"//", kProductLevel, Op::kFloorDivide},
    {"%", kProductLevel, Op::kModulo},
    {"**", kPowerLevel, Op::kPower},
};

// Python's escapes of a string literal. False: not a valid code point, or a \N name.
bool DecodeEscapes(std::string_view s, std::string* out) {
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out->push_back(s[i]);
      continue;
    }
    char c = s[++i];
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    size_t simple = kFrom.find(c);
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    if (simple != std::string_view::npos) {
      out->push_back(kTo[simple]);
    } else if (c == '\n') {
      continue;
    } else if (c >= '0' && c <= '7') {
      uint32_t value = 0;
      size_t end = i;
      while (end < s.size() && end < i + 3 && s[end] >= '0' && s[end] <= '7') {
        value = value * 8 + static_cast<uint32_t>(s[end++] - '0');
      }
      AppendUtf8(value, out);
      i = end - 1;
    } else if (digits > 0) {
      uint32_t value = 0;
      const char* first = s.data() + i + 1;
      if (i + digits >= s.size()) return false;
      auto [end, error] = std::from_chars(first, first + digits, value, 16);
      if (error != std::errc() || end != first + digits) return false;
      if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) return false;
      AppendUtf8(value, out);
      i += digits;
    } else if (c == 'N') {
      return false;
    } else {
      out->push_back('\\');
      out->push_back(c);
    }
  }
  return true;
}

}  // namespace

bool Parser::TupleEnds(std::string_view end_name) const {
  TokenType type = Current().type;
  return type == TokenType::kVariableEnd || type == TokenType::kBlockEnd || IsOperator(")") ||
         (!end_name.empty() && IsName(end_name));
}

NodeId Parser::ParseTuple(bool with_condition, std::string_view end_name, bool parenthesised) {
  uint32_t line = Current().line;
  std::vector<uint32_t> items;
  bool is_tuple = false;
  while (!failed()) {
    if (TupleEnds(end_name)) break;
    items.push_back(ParseExpression(with_condition));
    if (!AcceptOperator(",")) break;
    is_tuple = true;
  }
  if (failed()) return kNoNode;
  if (!is_tuple && !items.empty()) return items[0];
  if (items.empty() && !parenthesised) return Unexpected("an expression");
  return Add(Op::kTuple, line, AddList(items));
}

NodeId Parser::ParseExpression(bool with_condition) {
  ParseDepth depth(this);
  if (failed()) return kNoNode;
  NodeId value = ParseBinary(kOrLevel);
  while (with_condition && !failed() && IsName("if")) {
    uint32_t line = Current().line;
    Advance();
    NodeId condition = ParseBinary(kOrLevel);
    NodeId otherwise = AcceptName("else") ? ParseExpression() : kNoNode;
    value = Add(Op::kCondition, line, value, condition, otherwise);
  }
  return value;
}

NodeId Parser::ParseBinary(int min_precedence) {
  if (failed()) return kNoNode;
  NodeId left;
  if (min_precedence <= kNotLevel && IsName("not")) {
    ParseDepth depth(this);
    if (failed()) return kNoNode;
    uint32_t line = Current().line;
    Advance();
    NodeId operand = ParseBinary(kNotLevel);
    left = Add(Op::kNot, line, operand);
  } else {
    left = ParseUnary(true);
  }
  while (!failed()) {
    uint32_t line = Current().line;
    bool is_or = IsName("or");
    bool is_and = IsName("and");
    bool is_concat = IsOperator("~");
    int level = is_or ? kOrLevel : is_and ? kAndLevel : kConcatLevel;
    if (is_or || is_and || is_concat) {
      if (level < min_precedence) return left;
      std::vector<uint32_t> operands{left};
      while (is_concat ? AcceptOperator("~") : AcceptName(is_or ? "or" : "and")) {
        operands.push_back(ParseBinary(level + 1));
      }
      left = Add(is_or ? Op::kOr : is_and ? Op::kAnd : Op::kConcat, line, AddList(operands));
      continue;
    }
    if (min_precedence <= kCompareLevel) {
      NodeId compared = ParseComparison(left);
      if (compared != left) {
        left = compared;
        continue;
      }
    }
    const Arithmetic* found = nullptr;
    for (const Arithmetic& a : kArithmetic) {
      if (IsOperator(a.text)) found = &a;
    }
    if (found == nullptr || found->precedence < min_precedence) return left;
    Advance();
    NodeId right = ParseBinary(found->precedence + 1);
    left = Add(found->op, line, left, right);
  }
  return kNoNode;
}

NodeId Parser::ParseComparison(NodeId first) {
  static constexpr std::pair<std::string_view, Comparison> kOperators[] = {
      {"==", kEq}, {"!=", kNe}, {"<", kLt}, {"<=", kLe}, {">", kGt}, {">=", kGe}};
  uint32_t line = Current().line;
  std::vector<uint32_t> operands;
  while (!failed()) {
    size_t before = operands.size();
    for (auto [text, comparison] : kOperators) {
      if (IsOperator(text)) operands.push_back(comparison);
    }
    if (operands.size() > before) {
      Advance();
    } else if (AcceptName("in")) {
      operands.push_back(kIn);
    } else if (IsName("not") && Next().type == TokenType::kName && Next().text == "in") {
      Advance();
      Advance();
      operands.push_back(kNotIn);
    } else {
      break;
    }
    operands.push_back(ParseBinary(kSumLevel));
  }
  return operands.empty() ? first : Add(Op::kCompare, line, first, AddList(operands));
}

NodeId Parser::ParseUnary(bool with_filter) {
  ParseDepth depth(this);
  if (failed()) return kNoNode;
  uint32_t line = Current().line;
  NodeId node;
  if (IsOperator("-") || IsOperator("+")) {
    Op op = IsOperator("-") ? Op::kNegative : Op::kPositive;
    Advance();
    NodeId operand = ParseUnary(false);
    node = Add(op, line, operand);
  } else {
    node = ParsePrimary();
  }
  node = ParsePostfix(node);
  return with_filter ? ParseFilters(node) : node;
}

NodeId Parser::ParsePrimary() {
  if (failed()) return kNoNode;
  const Token token = Current();
  if (token.type == TokenType::kName) {
    std::string_view name = token.text;
    Advance();
    if (name == "true" || name == "True")
      return Add(Op::kConst, token.line, AddConstant(Value::Bool(true)));
    if (name == "false" || name == "False") {
      return Add(Op::kConst, token.line, AddConstant(Value::Bool(false)));
    }
    if (name == "none" || name == "None")
      return Add(Op::kConst, token.line, AddConstant(Value::None()));
    for (std::string_view word : {"and", "or", "not", "if", "else", "in", "is"}) {
      if (name == word) return Fail(token.line, "unexpected '{}', expected an expression", name);
    }
    if (name == "caller") macro_use_ |= kUsesCaller;
    if (name == "varargs") macro_use_ |= kUsesVarargs;
    if (name == "kwargs") macro_use_ |= kUsesKwargs;
    return Add(Op::kName, token.line, Symbol(name));
  }
  if (token.type == TokenType::kString) return ParseStrings();
  if (token.type == TokenType::kInteger || token.type == TokenType::kFloat) return ParseNumber();
  if (AcceptOperator("(")) {
    NodeId node = ParseTuple(true, "", true);
    ExpectOperator(")");
    return node;
  }
  if (IsOperator("[")) return ParseListLiteral();
  if (IsOperator("{")) return ParseDictLiteral();
  return Unexpected("an expression");
}

NodeId Parser::ParseStrings() {
  uint32_t line = Current().line;
  std::string bytes;
  while (Current().type == TokenType::kString) {
    if (!DecodeEscapes(Current().text, &bytes)) {
      return Fail(Current().line, "unsupported escape in string");
    }
    Advance();
  }
  return Add(Op::kConst, line, AddString(std::move(bytes)));
}

NodeId Parser::ParseNumber() {
  const Token token = Current();
  Advance();
  std::string digits;
  for (char c : token.text) {
    if (c != '_') digits.push_back(c);
  }
  const char* begin = digits.data();
  const char* end = begin + digits.size();
  if (token.type == TokenType::kFloat) {
    double d = 0;
    auto result = std::from_chars(begin, end, d);
    if (result.ec == std::errc::result_out_of_range) {
      // Too large or too small; the exponent tells which.
      d = digits.find("e-") == std::string::npos && digits.find("E-") == std::string::npos
              ? HUGE_VAL
              : 0;
    }
    return Add(Op::kConst, token.line, AddConstant(Value::Float(d)));
  }
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0') {
    char mark = static_cast<char>(digits[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    if (base != 10) begin += 2;
  }
  if (base == 10 && digits[0] == '0' && digits.find_first_not_of('0') != std::string::npos) {
    return Fail(token.line, "integer {} begins with 0", token.text);
  }
  int64_t i = 0;
  auto result = std::from_chars(begin, end, i, base);
  if (result.ec != std::errc() || result.ptr != end) {
    return Fail(token.line, "integer {} does not fit 64 bits", token.text);
  }
  return Add(Op::kConst, token.line, AddConstant(Value::Int(i)));
}

NodeId Parser::ParseListLiteral() {
  uint32_t line = Current().line;
  Advance();
  std::vector<uint32_t> items;
  while (!failed() && !IsOperator("]")) {
    items.push_back(ParseExpression());
    if (!AcceptOperator(",")) break;
  }
  ExpectOperator("]");
  return Add(Op::kList, line, AddList(items));
}

NodeId Parser::ParseDictLiteral() {
  uint32_t line = Current().line;
  Advance();
  std::vector<uint32_t> items;
  while (!failed() && !IsOperator("}")) {
    items.push_back(ParseExpression());
    ExpectOperator(":");
    items.push_back(ParseExpression());
    if (!AcceptOperator(",")) break;
  }
  ExpectOperator("}");
  return Add(Op::kDict, line, AddList(items));
}

}  // namespace krafla::chat

// A parsed template: nodes in one vector, referring to each other by index, with lists of indices
// and constants beside them. Nothing in it changes after parsing.
#ifndef KRAFLA_LIB_CHAT_AST_H_
#define KRAFLA_LIB_CHAT_AST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/chat/value.h"

namespace krafla::chat {

using NodeId = uint32_t;
using ListId = uint32_t;
inline constexpr NodeId kNoNode = 0;  // node 0 is never used

enum class Op : uint8_t {
  // Expressions; a, b, ... are the fields of Node.
  kConst,     // a: constant
  kName,      // a: symbol
  kList,      // a: list of nodes
  kTuple,     // a: list of nodes
  kDict,      // a: list of key, value, key, value, ...
  kNot,       // a
  kNegative,  // a
  kPositive,  // a
  kAnd,       // a: list of nodes
  kOr,        // a: list of nodes
  kConcat,    // a: list of nodes
  kAdd,       // a, b, as the next six
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower,
  kCompare,    // a: first operand; b: list of Comparison, node, Comparison, node, ...
  kCondition,  // a: value; b: condition; c: else or kNoNode
  kAttribute,  // a: object; b: symbol
  kSubscript,  // a: object; b: index
  kSlice,      // a: object; b, c, d: start, stop, step or kNoNode
  kCall,       // a: callee; b: list of positional; c: list of symbol, node, symbol, node, ...
  kSpread,     // a: *list among the positional, or **dict (with kSymbolSpread) among the named
  kFilter,  // a: subject, kNoNode in a filter block; b, c: arguments as kCall; d: filter; e: count
            // of names
  kTest,    // a: subject; b, c: arguments; d: test
  // Statements.
  kText,         // a: constant
  kOutput,       // a: expression
  kFor,          // a: target; b: iterable; c: filter or kNoNode; d: body list; e: else list
  kIf,           // a: list of condition (kNoNode for else), body list, ...
  kSet,          // a: target; b: value
  kSetBlock,     // a: target; b: filter chain or kNoNode; c: body list
  kMacro,        // a: symbol; b: list of parameters; c: list of defaults; d: body list; e: MacroUse
  kCallBlock,    // a: kCall node; b: kMacro node of the body
  kFilterBlock,  // a: filter chain; b: body list
  kWith,         // a: list of target, value, ...; b: body list
  kScope,        // a: body list
  kBreak,
  kContinue,
  // Targets of assignment; a kTuple of targets unpacks.
  kNamespaceTarget,  // a: symbol; b: symbol of the attribute
};

enum Comparison : uint32_t { kEq, kNe, kLt, kLe, kGt, kGe, kIn, kNotIn };

// Which special names a macro's body mentions.
enum MacroUse : uint32_t { kUsesCaller = 1, kUsesVarargs = 2, kUsesKwargs = 4 };

struct Node {
  Op op = Op::kConst;
  uint32_t line = 0;
  uint32_t a = 0, b = 0, c = 0, d = 0, e = 0;
};

enum WellKnownSymbol : uint32_t { kSymbolLoop, kSymbolCaller, kSymbolVarargs, kSymbolKwargs };

inline constexpr uint32_t kSymbolSpread = 0xFFFFFFFF;  // in the place of a name: **dict

struct Program {
  std::vector<Node> nodes{1};
  std::vector<uint32_t> lists;  // [count, items...] at each ListId
  std::vector<Value> constants;
  Heap heap;  // of the constants
  std::vector<std::string> symbols;
  std::map<std::string, uint32_t, std::less<>> symbol_ids;
  ListId root = 0;

  std::span<const uint32_t> List(ListId id) const { return {lists.data() + id + 1, lists[id]}; }
};

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_AST_H_

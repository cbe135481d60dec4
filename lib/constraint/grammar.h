// What the front ends make of a regular expression, a grammar, a list of choices or a schema, and
// what the automaton is built from: rules over expressions, all of them in flat arrays, an
// expression after its parts.
#ifndef KRAFLA_LIB_CONSTRAINT_GRAMMAR_H_
#define KRAFLA_LIB_CONSTRAINT_GRAMMAR_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/constraint/char_dfa.h"
#include "lib/constraint/code_points.h"

namespace krafla {

using ExprId = uint32_t;
using RuleId = uint32_t;

enum class ExprKind : uint8_t {
  kEmpty,     // the empty text
  kNothing,   // no text at all
  kBytes,     // index: of a literal
  kClass,     // index: of a set of characters
  kStrings,   // index: of an automaton over characters, as its text is
  kJson,      // index: the same, written inside the quotes of a JSON string
  kSequence,  // parts
  kChoice,    // parts
  kRepeat,    // one part, min to max times
  kRule,      // index: a RuleId
  kMembers,   // index: of a Members
  kBegin,     // ^ and $ of a regular expression
  kEnd,
};
inline constexpr uint32_t kUnbounded = 0xFFFFFFFF;

struct Expr {
  ExprKind kind = ExprKind::kEmpty;
  uint32_t index = 0;    // see ExprKind; of the first part in Grammar::parts
  uint32_t n_parts = 0;  // kSequence, kChoice, kRepeat
  uint32_t min = 0, max = 0;
};

// Items in any order, each at most once, with a separator between two: the members of an object.
struct Members {
  struct Item {
    RuleId rule;
    bool required;
  };
  std::vector<Item> items;
  bool has_rest = false;  // any number of texts of rule `rest` among them
  RuleId rest = 0;
  RuleId separator = 0;
  uint32_t min = 0, max = kUnbounded;  // number of items and rests
  bool ordered = false;                // items in their order, then the rests
};

struct Rule {
  std::string name;  // for messages
  ExprId body = 0;
  uint32_t position = 0;  // in the source
};

inline constexpr uint32_t kMaxSourceBytes = 4u << 20;

struct Grammar {
  std::vector<Expr> exprs;
  std::vector<ExprId> parts;
  std::vector<std::string> literals;
  std::vector<CodePointSet> sets;
  std::vector<CharDfa> strings;
  std::vector<Members> members;
  std::vector<Rule> rules;
  RuleId root = 0;

  ExprId Add(Expr expr);
  ExprId Empty() { return Add({}); }
  ExprId Bytes(std::string_view text);
  ExprId Class(CodePointSet set);
  ExprId Strings(CharDfa dfa, ExprKind kind = ExprKind::kStrings);
  ExprId Sequence(std::span<const ExprId> items) { return Join(ExprKind::kSequence, items); }
  ExprId Choice(std::span<const ExprId> items) { return Join(ExprKind::kChoice, items); }
  ExprId Repeat(ExprId item, uint32_t min, uint32_t max);
  ExprId Call(RuleId rule) { return Add({ExprKind::kRule, rule}); }
  ExprId AddMembers(Members m);
  RuleId AddRule(std::string name, uint32_t position = 0);
  RuleId Include(Grammar other);  // all of its rules; its root among them

 private:
  ExprId Join(ExprKind kind, std::span<const ExprId> items);
};

// The front ends but for JSON schema (schema.h). ArgumentError or UnsupportedError: a message with
// the position in the source.
StatusOr<Grammar> ReadChoices(std::span<const std::string_view> choices);
StatusOr<Grammar> ReadRegex(std::string_view pattern);
StatusOr<Grammar> ReadGbnf(std::string_view text);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_GRAMMAR_H_

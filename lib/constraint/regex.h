// Regular expressions as JSON schema's `pattern` has them: ECMA 262 without what a finite automaton
// cannot do (back references) or what is not built (lookaround, word boundaries, \p), each refused
// by name with the byte it stands at.
#ifndef KRAFLA_LIB_CONSTRAINT_REGEX_H_
#define KRAFLA_LIB_CONSTRAINT_REGEX_H_

#include <string_view>

#include "lib/constraint/grammar.h"

namespace krafla {

// The expression of a pattern, in `grammar`: classes, sequences, choices, repeats, kBegin and kEnd.
StatusOr<ExprId> ParseRegex(std::string_view pattern, Grammar* grammar);

enum class RegexMatch { kWhole, kSearch };  // the pattern is the string, or is somewhere in it
StatusOr<CharDfa> RegexDfa(std::string_view pattern, RegexMatch match);

// The class of an escape of one letter, d D w W s S; empty where it is none of these.
CodePointSet RegexClass(char letter);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_REGEX_H_

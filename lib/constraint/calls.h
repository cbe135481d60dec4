// Replies that are calls of tools: a schema of one call between the texts that stand around it,
// with reasoning before it and, where calls are free to come, other text.
#ifndef KRAFLA_LIB_CONSTRAINT_CALLS_H_
#define KRAFLA_LIB_CONSTRAINT_CALLS_H_

#include <string_view>

#include "lib/constraint/grammar.h"
#include "lib/constraint/schema.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

struct CallsSource {
  // Around a call and between two of them; "" between: there is only one. In these a special
  // token's spelling is that token.
  std::string_view begin, between, end;
  std::string_view schema;  // of a call
  // The text of a reasoning part: none, one that may stand first, one that the prompt has begun.
  enum Reasoning { kNone, kMay, kBegun } reasoning = kNone;
  // Where it is not empty a reply may do without a call: its text, or the text before its calls, is
  // any in which this pattern is not found.
  std::string_view no_call;
  // Whether calls may follow such a text, rather than only stand in its place.
  bool text_before = false;
};

StatusOr<Grammar> ReadCalls(const CallsSource& source, const SchemaOptions& options,
                            const Tokenizer& tokenizer);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CALLS_H_

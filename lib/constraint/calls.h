// Replies that are calls of tools: schemas of a call between the texts that stand around it, with
// reasoning before it and, where calls are free to come, other text.
#ifndef KRAFLA_LIB_CONSTRAINT_CALLS_H_
#define KRAFLA_LIB_CONSTRAINT_CALLS_H_

#include <string>
#include <string_view>
#include <vector>

#include "lib/constraint/grammar.h"
#include "lib/constraint/schema.h"
#include "lib/tokenizer/tokenizer.h"

namespace krafla {

// In texts that stand around something a special token's spelling is that token.
struct CallsSource {
  // A reply has one of these, or where `between` is not empty any number of the same.
  struct Call {
    std::string begin;
    std::string schema;
  };
  std::vector<Call> calls;
  std::string_view between, end;

  // A reasoning part: none, one that may stand first, one that the prompt has begun.
  enum Reasoning { kNone, kMay, kBegun } reasoning = kNone;
  std::string_view think_begin, think_end;
  std::string_view think_after;  // behind it; empty: at most two line breaks

  // Where it is not empty a reply may do without a call: its text, or the text before its calls, is
  // any in which this pattern is not found.
  std::string_view no_call;
  std::string_view text_begin;  // before such a text
  // Whether calls may follow such a text, rather than only stand in its place.
  bool text_before = false;
};

StatusOr<Grammar> ReadCalls(const CallsSource& source, const SchemaOptions& options,
                            const Tokenizer& tokenizer);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_CALLS_H_

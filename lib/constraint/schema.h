// JSON schema (draft 2020-12, and what earlier drafts write otherwise) to a grammar. What is not
// supported is refused by name, with the place in the schema; docs/constraints.md has the table.
#ifndef KRAFLA_LIB_CONSTRAINT_SCHEMA_H_
#define KRAFLA_LIB_CONSTRAINT_SCHEMA_H_

#include <string_view>

#include "lib/constraint/grammar.h"

namespace krafla {

enum class JsonSpace {
  kFlexible,  // between tokens at most a space, or a newline and up to 32 spaces or tabs
  kNone,
  kPython,  // one space behind , and :, as json.dumps writes
};

struct SchemaOptions {
  JsonSpace space = JsonSpace::kFlexible;
  bool in_order = false;  // members in the order of the schema's properties
  bool lenient = false;   // keywords that cannot be kept are passed over
};

StatusOr<Grammar> ReadJsonSchema(std::string_view text, const SchemaOptions& options);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_SCHEMA_H_

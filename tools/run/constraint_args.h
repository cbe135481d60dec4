// Options of ml_run that say what a reply must be.
#ifndef KRAFLA_TOOLS_RUN_CONSTRAINT_ARGS_H_
#define KRAFLA_TOOLS_RUN_CONSTRAINT_ARGS_H_

#include <optional>
#include <string>
#include <vector>

#include "tools/exit_code.h"
#include "tools/handles.h"
#include "tools/options.h"

namespace krafla::tools {

struct ConstraintArgs {
  std::optional<std::string> schema;  // a text that begins with {, or a file's path
  std::optional<std::string> grammar_file;
  std::optional<std::string> regex;
  std::vector<std::string> choices;
};

void AddConstraint(CLI::App& app, ConstraintArgs* args);
// Leaves *out empty where no option was given.
ExitCode CompileConstraint(const ConstraintArgs& args, const krafla_tokenizer* tokenizer,
                           ConstraintPtr* out);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RUN_CONSTRAINT_ARGS_H_

// See constraint_args.h.
#include "tools/run/constraint_args.h"

#include "tools/output.h"

namespace krafla::tools {
namespace {

ExitCode Compile(const char* option, int32_t kind, const std::vector<std::string>& texts,
                 const krafla_tokenizer* tokenizer, ConstraintPtr* out) {
  std::vector<krafla_string> raw;
  for (const std::string& text : texts) raw.push_back({text.data(), text.size()});
  const int32_t code = Create(out, krafla_constraint_compile, tokenizer, kind, raw.data(),
                              raw.size(), static_cast<const krafla_constraint_options*>(nullptr));
  if (code == KRAFLA_E_ARGUMENT || code == KRAFLA_E_UNSUPPORTED) {
    return FailAs(kExitArguments, option);
  }
  return code == KRAFLA_OK ? kExitOk : FailWith(code, option);
}

}  // namespace

void AddConstraint(CLI::App& app, ConstraintArgs* args) {
  CLI::Option* schema =
      app.add_option("--json-schema", args->schema,
                     "The reply is JSON of this schema (a text that begins with {, or a file)")
          ->type_name("FILE|TEXT");
  CLI::Option* grammar =
      app.add_option("--grammar-file", args->grammar_file, "The reply is of this GBNF grammar")
          ->type_name("FILE")
          ->excludes(schema);
  CLI::Option* regex =
      app.add_option("--regex", args->regex, "The reply is of this regular expression (ECMA 262)")
          ->type_name("PATTERN")
          ->excludes(schema)
          ->excludes(grammar);
  app.add_option("--choice", args->choices, "The reply is this text, or that of another --choice")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->excludes(schema)
      ->excludes(grammar)
      ->excludes(regex);
}

ExitCode CompileConstraint(const ConstraintArgs& args, const krafla_tokenizer* tokenizer,
                           ConstraintPtr* out) {
  if (!args.choices.empty()) {
    return Compile("--choice", KRAFLA_CONSTRAINT_CHOICES, args.choices, tokenizer, out);
  }
  if (args.regex) {
    return Compile("--regex", KRAFLA_CONSTRAINT_REGEX, {*args.regex}, tokenizer, out);
  }
  if (args.grammar_file) {
    std::string text;
    if (ExitCode e = ReadFile(*args.grammar_file, &text)) return e;
    return Compile("--grammar-file", KRAFLA_CONSTRAINT_GBNF, {text}, tokenizer, out);
  }
  if (!args.schema) return kExitOk;
  std::string text = *args.schema;
  if (!text.starts_with('{')) {
    if (ExitCode e = ReadFile(*args.schema, &text)) return e;
  }
  return Compile("--json-schema", KRAFLA_CONSTRAINT_JSON_SCHEMA, {text}, tokenizer, out);
}

}  // namespace krafla::tools

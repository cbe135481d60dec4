// Parsing and rendering from outside: checks the source, sets the variables, hands out the runs.
#include "lib/chat/template.h"

#include "lib/base/utf8.h"
#include "lib/chat/interpreter.h"
#include "lib/chat/json_in.h"
#include "lib/chat/lexer.h"
#include "lib/chat/parser.h"
#include "lib/chat/strftime.h"

namespace krafla {

ChatTemplate::ChatTemplate(std::unique_ptr<chat::Program> program, const TemplateLimits& limits)
    : program_(std::move(program)), limits_(limits) {}
ChatTemplate::~ChatTemplate() = default;

StatusOr<std::unique_ptr<ChatTemplate>> ChatTemplate::Parse(std::string_view source,
                                                            const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes) {
    return TemplateError("chat template: {} bytes, want at most {}", source.size(),
                         limits.source_bytes);
  }
  if (size_t valid = ValidUtf8Prefix(source); valid < source.size()) {
    return TemplateError("chat template: byte {} is not UTF-8", valid);
  }
  std::string text = chat::NormaliseSource(source);
  KRAFLA_ASSIGN_OR_RETURN(std::vector<chat::Token> tokens, chat::Tokenise(text));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<chat::Program> program,
                          chat::Parser(std::move(tokens), limits.depth).Run());
  return std::unique_ptr<ChatTemplate>(new ChatTemplate(std::move(program), limits));
}

StatusOr<std::vector<TextRun>> ChatTemplate::Render(std::string_view input_json,
                                                    std::span<const TrustedVariable> trusted,
                                                    std::optional<TemplateClock> clock) const {
  chat::Interpreter in(*program_, limits_, clock ? *clock : chat::SystemClock());
  KRAFLA_RETURN_IF_ERROR(chat::SetInput(in, input_json));
  for (const TrustedVariable& variable : trusted) {
    if (size_t valid = ValidUtf8Prefix(variable.value); valid < variable.value.size()) {
      return ArgumentError("chat variable {}: byte {} is not UTF-8", variable.name, valid);
    }
    in.SetVariable(variable.name, in.String(std::string(variable.value), true));
  }
  chat::Text out;
  KRAFLA_RETURN_IF_ERROR(in.Run(&out));
  std::vector<TextRun> runs;
  out.ForEachRun(0, out.size(), [&runs](std::string_view bytes, bool is_trusted) {
    runs.push_back({std::string(bytes), is_trusted});
  });
  return runs;
}

}  // namespace krafla

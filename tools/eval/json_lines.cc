// ml_eval tokenize, detokenize, template: one answer for each line, so that a program can keep pace
// line by line; a line that is wrong is answered with its error and the next one is read.
#include <krafla/krafla.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tools/eval/commands.h"
#include "tools/interrupt.h"
#include "tools/output.h"

namespace krafla::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Text {
  TokenizerPtr tokenizer;
  TemplatePtr chat_template;  // for kTemplate only
};

std::string Dump(const Json& json) {
  // Bytes that are no UTF-8 (ids that end inside a code point) become U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json Error(std::string_view message) { return {{"error", message}}; }
Json LibraryError() { return Error(krafla_error_message()); }

// An object whose members have the wanted types, or what is wrong.
std::string ReadFlag(const Json& input, const char* name, bool* value) {
  const auto found = input.find(name);
  if (found == input.end()) return {};
  if (!found->is_boolean()) {
    return fmt::format("\"{}\": got {}, want true or false", name, found->type_name());
  }
  *value = found->get<bool>();
  return {};
}

Json Tokenize(const Text& text, const Json& input) {
  const auto given = input.find("text");
  if (given == input.end() || !given->is_string()) {
    return Error(fmt::format("\"text\": got {}, want a string",
                             given == input.end() ? "none" : given->type_name()));
  }
  bool special = false, parse_special = false;
  for (const std::string& error :
       {ReadFlag(input, "special", &special), ReadFlag(input, "parse_special", &parse_special)}) {
    if (!error.empty()) return Error(error);
  }
  const auto& bytes = given->get_ref<const std::string&>();
  const uint32_t flags = (special ? uint32_t{KRAFLA_ENCODE_SPECIAL} : 0u) |
                         (parse_special ? uint32_t{KRAFLA_ENCODE_PARSE} : 0u);
  std::vector<int32_t> ids(bytes.size() + 16);
  size_t n = 0;
  const auto encode = [&] {
    return krafla_tokenizer_encode(text.tokenizer.get(), bytes.data(), bytes.size(), flags,
                                   ids.data(), ids.size(), &n);
  };
  int32_t code = encode();
  if (code == KRAFLA_E_BUFFER) {
    ids.resize(n);
    code = encode();
  }
  if (code != KRAFLA_OK) return LibraryError();
  ids.resize(n);
  return {{"ids", ids}};
}

Json Detokenize(const Text& text, const Json& input) {
  const auto given = input.find("ids");
  if (given == input.end() || !given->is_array()) {
    return Error(fmt::format("\"ids\": got {}, want an array of whole numbers",
                             given == input.end() ? "none" : given->type_name()));
  }
  std::vector<int32_t> ids;
  for (const Json& id : *given) {
    // Only a number is shown: Dump follows nesting by recursion, and the line may be hostile.
    const bool fits = id.is_number_integer() && id >= 0 && id <= INT32_MAX;
    if (!fits)
      return Error(fmt::format("\"ids\"[{}]: got {}, want a token id", ids.size(),
                               id.is_number() ? Dump(id) : id.type_name()));
    ids.push_back(id.get<int32_t>());
  }
  std::string bytes(ids.size() * 8 + 16, '\0');
  size_t n = 0;
  const auto decode = [&] {
    return krafla_tokenizer_decode(text.tokenizer.get(), ids.data(), ids.size(), 0, bytes.data(),
                                   bytes.size(), &n);
  };
  int32_t code = decode();
  if (code == KRAFLA_E_BUFFER) {
    bytes.resize(n);
    code = decode();
  }
  if (code != KRAFLA_OK) return LibraryError();
  bytes.resize(n);
  return {{"text", bytes}};
}

// The line goes to the library as it is: it reads JSON itself, numbers and order of keys included.
Json Render(const Text& text, const std::string& line) {
  RenderedPtr rendered;
  if (Create(&rendered, krafla_template_render, text.chat_template.get(), text.tokenizer.get(),
             line.data(), line.size()) != KRAFLA_OK) {
    return LibraryError();
  }
  const krafla_piece* pieces = nullptr;
  size_t n = 0;
  if (krafla_rendered_get_pieces(rendered.get(), &pieces, &n) != KRAFLA_OK) return LibraryError();
  std::string whole;
  for (size_t i = 0; i < n; ++i) whole.append(pieces[i].text, pieces[i].length);
  return {{"text", whole}};
}

Json Answer(const Text& text, LineCommand command, const std::string& line) {
  if (command == LineCommand::kTemplate) return Render(text, line);
  const Json input = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (input.is_discarded()) return Error("the line is not valid JSON");
  if (!input.is_object()) {
    return Error(fmt::format("the line: got {}, want an object", input.type_name()));
  }
  return command == LineCommand::kTokenize ? Tokenize(text, input) : Detokenize(text, input);
}

ExitCode OpenText(const EvalArgs& args, LineCommand command, Text* text) {
  const std::string& path = args.model.tokenizer.empty() ? args.model.model : args.model.tokenizer;
  int32_t code = Create(&text->tokenizer, krafla_tokenizer_open_path, path.data(), path.size());
  if (code != KRAFLA_OK) return FailWith(code, path);
  if (command != LineCommand::kTemplate) return kExitOk;
  code = Create(&text->chat_template, krafla_template_from_tokenizer, text->tokenizer.get());
  if (code == KRAFLA_E_TEMPLATE) return FailAs(kExitModelFile, path);  // it does not parse
  return code == KRAFLA_OK ? kExitOk : FailWith(code, path);
}

}  // namespace

ExitCode EvalLines(const EvalArgs& args, LineCommand command) {
  Text text;
  if (ExitCode e = OpenText(args, command, &text)) return e;
  std::string pending;
  char chunk[1 << 16];
  for (bool at_end = false; !at_end;) {
    if (!WaitForInput(STDIN_FILENO)) return kExitInterrupted;
    const ptrdiff_t n = ReadSome(STDIN_FILENO, chunk, sizeof(chunk));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Fail(kExitOther, "stdin: {}", std::strerror(errno));
    at_end = n == 0;
    size_t searched = pending.size();
    pending.append(chunk, static_cast<size_t>(n));
    if (at_end && !pending.empty()) pending.push_back('\n');
    size_t start = 0;
    for (size_t end; (end = pending.find('\n', std::max(start, searched))) != std::string::npos;) {
      const std::string line = pending.substr(start, end - start);
      if (ExitCode e = WriteStdout(Dump(Answer(text, command, line)) + "\n")) return e;
      if (Interrupted()) return kExitInterrupted;
      start = end + 1;
    }
    pending.erase(0, start);
  }
  return Interrupted() ? kExitInterrupted : kExitOk;
}

}  // namespace krafla::tools

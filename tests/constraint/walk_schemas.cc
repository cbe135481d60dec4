// walk_schemas TOKENIZER.json: for each line {"schema": TEXT, "lenient": bool, "texts": [TEXT...]}
// on stdin, whether the schema's automaton takes each text as a whole: a line {"error": TEXT} or
// {"accepted": [bool...], "us": TIME_TO_COMPILE}. For schema_suite.py.
#include <simdjson.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "lib/constraint/constraint.h"
#include "lib/constraint/schema.h"
#include "lib/convert/tokenizer_json.h"
#include "lib/tokenizer/table.h"
#include "tests/tokenizer/opened.h"

namespace krafla {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<uint8_t>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string Answer(simdjson::dom::element line,
                   const std::shared_ptr<const Vocabulary>& vocabulary) {
  SchemaOptions options;
  options.lenient = line["lenient"].get_bool().value();
  const auto begin = std::chrono::steady_clock::now();
  const auto grammar = ReadJsonSchema(line["schema"].get_string().value(), options);
  if (!grammar.ok()) return "{\"error\":" + Quoted(Message(grammar.status())) + "}";
  const auto constraint = Constraint::Create(*grammar, vocabulary);
  if (!constraint.ok()) return "{\"error\":" + Quoted(Message(constraint.status())) + "}";
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - begin);
  std::string out = "{\"accepted\":[";
  bool first = true;
  simdjson::dom::array texts;
  if (line["texts"].get_array().get(texts) != simdjson::SUCCESS) return "{}";
  for (simdjson::dom::element text : texts) {
    auto state = ConstraintState::Create(*constraint);
    const bool taken =
        state.ok() && state->AcceptText(text.get_string().value()).ok() && state->complete();
    out += std::string(first ? "" : ",") + (taken ? "true" : "false");
    first = false;
  }
  return out + FormatText("],\"us\":{},\"nodes\":{}}}", us.count(), (*constraint)->n_nodes());
}

int Run(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::string json(std::istreambuf_iterator<char>(file), {});
  const auto spec = TokenizerSpecFromJson(json, "");
  if (!spec.ok()) return 1;
  const auto table = WriteTokenizerTable(*spec);
  if (!table.ok()) return 1;
  TableMemory memory(*table);
  auto tokenizer = Tokenizer::Open(memory.view());
  if (!tokenizer.ok()) return 1;
  const auto vocabulary = Vocabulary::Create(*std::move(tokenizer));
  if (!vocabulary.ok()) return 1;
  simdjson::dom::parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Answer(parser.parse(line).value(), *vocabulary) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace krafla

int main(int argc, char** argv) { return argc == 2 ? krafla::Run(argv[1]) : 2; }

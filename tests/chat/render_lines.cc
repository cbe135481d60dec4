// A driver for templates_oracle.py: JSON lines on stdin and stdout.
// {"template", "tokens": {"bos_token": ...}, "input": {"messages": ...}} gives {"text"} or
// {"error"}; the clock is the one of jinja_oracle.py. Texts are hex in both, so that no escape has
// to be written here.
#include <simdjson.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "lib/chat/template.h"
#include "tests/chat/join_runs.h"

namespace krafla {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

void Print(const char* key, std::string_view text) {
  std::string hex;
  for (const unsigned char c : text) {
    hex += "0123456789abcdef"[c >> 4];
    hex += "0123456789abcdef"[c & 15];
  }
  std::printf("{\"%s\": \"%s\"}\n", key, hex.c_str());
  std::fflush(stdout);
}

void Answer(const element& line) {
  constexpr TemplateClock kClock{1720019049, 0};  // 2024-07-03 15:04:09
  std::string_view source;
  element input;
  object tokens;
  if (line["template"].get(source) != simdjson::SUCCESS ||
      line["input"].get(input) != simdjson::SUCCESS ||
      line["tokens"].get(tokens) != simdjson::SUCCESS) {
    return Print("error", "a line without template, tokens or input");
  }
  std::vector<TrustedVariable> variables;
  for (const auto& [name, value] : tokens) variables.push_back({name, std::string_view(value)});
  const auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return Print("error", Message(parsed.status()));
  const auto runs = (*parsed)->Render(simdjson::minify(input), variables, kClock);
  if (!runs.ok()) return Print("error", Message(runs.status()));
  Print("text", JoinRuns(*runs));
}

}  // namespace
}  // namespace krafla

int main() {
  simdjson::dom::parser parser;
  for (std::string line; std::getline(std::cin, line);) {
    simdjson::dom::element e;
    if (parser.parse(line).get(e) != simdjson::SUCCESS) {
      krafla::Print("error", "not JSON");
    } else {
      krafla::Answer(e);
    }
  }
}

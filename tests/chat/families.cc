// The templates that Llama 3, Mistral Nemo, Qwen 2.5 and 3, Gemma 3 and SmolLM2 ship, rendered as
// apply_chat_template renders them, with LF and with CRLF line ends.
#include <simdjson.h>

#include "lib/chat/template.h"
#include "tests/chat/join_runs.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::string WithCrlf(std::string_view source) {
  std::string out;
  for (char c : source) out += c == '\n' ? "\r\n" : std::string(1, c);
  return out;
}

TEST_CASE("families' templates render as Hugging Face does") {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.load(KRAFLA_TEST_DATA "/chat/families.json");
  size_t cases = 0;
  for (auto [family, entry] : root.get_object()) {
    std::vector<TrustedVariable> tokens;
    for (auto [name, value] : entry["tokens"].get_object()) {
      tokens.push_back({name, std::string_view(value)});
    }
    std::string_view source = entry["template"];
    for (const std::string& text : {std::string(source), WithCrlf(source)}) {
      auto parsed = ChatTemplate::Parse(text);
      INFO("family " << family);
      REQUIRE(Message(parsed.status()) == "");
      for (simdjson::dom::element c : entry["cases"].get_array()) {
        ++cases;
        INFO("case " << std::string_view(c["name"]));
        std::string input = simdjson::minify(c["input"]);
        auto runs = (*parsed)->Render(input, tokens);
        if (c["expected"].is_null()) {
          CHECK_FALSE(runs.ok());
          continue;
        }
        CHECK(Message(runs.status()) == "");
        if (runs.ok()) CHECK(JoinRuns(*runs) == std::string_view(c["expected"]));
      }
    }
  }
  CHECK(cases > 150);
}

}  // namespace
}  // namespace krafla

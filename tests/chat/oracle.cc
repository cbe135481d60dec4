// Replays what Jinja2 made of about a thousand templates (jinja_oracle.py): expressions, filters,
// methods, statements, errors and white-space control, byte for byte.
#include <simdjson.h>

#include "lib/chat/template.h"
#include "tests/chat/join_runs.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("templates render as Jinja2 does") {
  simdjson::dom::parser parser;
  simdjson::dom::element root = parser.load(KRAFLA_TEST_DATA "/chat/oracle.json");
  std::string variables = simdjson::minify(root["variables"]);
  // 2024-07-03 15:04:09, the clock of the script.
  const TemplateClock clock{1720019049, 0};
  size_t differ = 0;
  size_t cases = 0;
  for (simdjson::dom::array item : root["cases"].get_array()) {
    ++cases;
    std::string source(std::string_view(item.at(0)));
    std::string got;
    bool failed = true;
    auto parsed = ChatTemplate::Parse(source);
    if (!parsed.ok()) {
      got = Message(parsed.status());
    } else if (auto runs = (*parsed)->Render(variables, {}, clock); !runs.ok()) {
      got = Message(runs.status());
    } else {
      failed = false;
      got = JoinRuns(*runs);
    }
    bool want_error = item.at(1).is_null();
    std::string want = want_error ? "an error" : std::string(std::string_view(item.at(1)));
    if (failed == want_error && (failed || got == want)) {
      if (failed) CHECK(got.starts_with("chat template, line "));
      continue;
    }
    ++differ;
    FAIL_CHECK("template: " << source << "\n  got: " << got << "\n want: " << want);
  }
  CHECK(cases > 900);
  CHECK(differ == 0);
}

}  // namespace
}  // namespace krafla

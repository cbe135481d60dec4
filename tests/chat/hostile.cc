// Templates and inputs that try to hang, to exhaust memory or to overflow the stack, and the
// messages for those that are merely wrong.
#include <pthread.h>

#include <chrono>

#include "lib/chat/template.h"
#include "tests/chat/join_runs.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::string Repeat(std::string_view piece, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += piece;
  return out;
}

// "" when it renders; otherwise the error. Each must end soon, whatever it is.
std::string Outcome(const std::string& source, const std::string& input = "{}") {
  auto begin = std::chrono::steady_clock::now();
  std::string out;
  auto parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) {
    out = Message(parsed.status());
    CHECK(parsed.status().code() == absl::StatusCode::kUnknown);
  } else {
    auto runs = (*parsed)->Render(input);
    if (!runs.ok()) out = Message(runs.status());
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  return out;
}

bool Has(const std::string& text, std::string_view part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
  return true;
}

TEST_CASE("limits stop what would not end") {
  Has(Outcome("{% for i in range(10**9) %}x{% endfor %}"), "range too big");
  Has(Outcome("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"),
      "evaluation steps");
  Has(Outcome("{% set ns = namespace(s='x') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s "
              "%}{% endfor %}"),
      "values take more than");
  Has(Outcome("{{ 'x' * 10**12 }}"), "values take more than");
  Has(Outcome("{{ [0] * 10**12 }}"), "values take more than");
  Has(Outcome("{{ 'x' * (10 * 1024 * 1024) }}"), "output is longer than");
  Has(Outcome("{% for i in range(9999) %}{{ 'x' * 5000 }}{% endfor %}"), "output is longer than");
  Has(Outcome("{{ 'a'.ljust(10**12) }}"), "values take more than");
  Has(Outcome("{{ '%999999999999d' % 1 }}"), "values take more than");
  Has(Outcome("{{ 'a\\nb'|indent(10**12) }}"), "values take more than");
  Has(Outcome("{{ 'a'|center(10**15) }}"), "values take more than");
  Has(Outcome("{{ 'aaaa'|replace('', 'b' * 200000000) }}"), "values take more than");
  Has(Outcome("{{ range(*range(10**9)) }}"), "range too big");
  Has(Outcome("{{ range(*range(9999)) }}"), "at most");
  Has(Outcome("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"), "nested deeper than 200");
  Has(Outcome("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"), "nested deeper than 200");
  Has(Outcome("{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% "
              "endfor %}"
              "{{ ns.x }}"),
      "nested deeper than 200");
  Has(Outcome(
          "{% set ns = namespace(x=[], y=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}"
          "{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}"),
      "nested deeper than 200");
  Has(Outcome("{% set ns = namespace(x=[]) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% "
              "endfor %}"
              "{{ ns.x|tojson }}"),
      "nested deeper than 200");
  Has(Outcome("{{ range(99999)|list|map('map', 'map')|list }}"), "not iterable");
  CHECK(Outcome("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x is defined }}") == "");
}

TEST_CASE("numbers do not wrap") {
  Has(Outcome("{{ 9223372036854775807 + 1 }}"), "overflow");
  Has(Outcome("{{ -9223372036854775807 - 2 }}"), "overflow");
  Has(Outcome("{{ (-9223372036854775807 - 1) // -1 }}"), "overflow");
  Has(Outcome("{{ (-9223372036854775807 - 1)|abs }}"), "overflow");
  Has(Outcome("{{ 2 ** 63 }}"), "overflow");
  Has(Outcome("{{ 9223372036854775808 }}"), "does not fit 64 bits");
  CHECK(Outcome("{{ (-9223372036854775807 - 1) % -1 }}{{ 'abc'[::-9223372036854775807 - 1] }}") ==
        "");
  CHECK(Outcome("{{ 'abc'[9223372036854775807:][-9223372036854775807:] }}{{ "
                "range(3)[-9223372036854775807] }}") == "");
  CHECK(
      Outcome("{{ range(-9223372036854775807, 9223372036854775807, 9223372036854775807)|list }}") ==
      "");
}

void* DeepOnSmallStack(void*) {
  // A 512 KiB stack, the smallest that hosts are known to give, must hold the deepest nesting
  // allowed.
  for (size_t n : {150, 190, 300, 100000}) {
    std::string input = "{\"x\":" + Repeat("[", n) + Repeat("]", n) + "}";
    Outcome("{{ x }}{{ x|tojson }}{{ x == x }}", input);
    Outcome("{{ " + Repeat("(", n) + "1" + Repeat(")", n) + " }}");
    Outcome("{{ " + Repeat("[", n) + Repeat("]", n) + " }}");
    Outcome("{{ " + Repeat("-", n) + "1 }}");
    Outcome("{{ " + Repeat("not ", n) + "1 }}");
    Outcome("{{ " + Repeat("{'a':", n) + "1" + Repeat("}", n) + " }}");
    Outcome("{{ x" + Repeat(".x", n) + " }}");
    Outcome("{{ 'x'" + Repeat("|upper", n) + " }}");
    Outcome("{{ " + Repeat("f(", n) + Repeat(")", n) + " }}");
    Outcome("{{ 1" + Repeat(" if 1 else 1", n) + " }}");
    Outcome("{% set " + Repeat("(", n) + "a" + Repeat(")", n) + " = 1 %}");
    Outcome(Repeat("{% if 1 %}", n) + Repeat("{% endif %}", n));
    Outcome(Repeat("{% for x in [1] %}", n) + Repeat("{% endfor %}", n));
    Outcome(Repeat("{% macro m() %}", n) + Repeat("{% endmacro %}", n));
  }
  Outcome(
      "{% macro f(a) %}{% if 1 %}{% for x in [1] %}{{ [f(a)|upper ~ ''] }}{% endfor %}{% endif %}"
      "{% endmacro %}{{ f(1) }}");
  Outcome(
      "{% macro f(a) %}{% filter upper %}{% set x %}{{ ('a' if [f(a)][0] == 1 else 'b')[1:] }}"
      "{% endset %}{% endfilter %}{% endmacro %}{{ f(1) }}");
  return nullptr;
}

TEST_CASE("deep nesting meets an error, not the end of the stack") {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
#if defined(__SANITIZE_ADDRESS__)
  pthread_attr_setstacksize(&attributes, 4 << 20);  // its frames are several times as large
#else
  pthread_attr_setstacksize(&attributes, 512 << 10);
#endif
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, DeepOnSmallStack, nullptr) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  // Left-deep chains are loops, not nesting.
  CHECK(Outcome("{{ 1" + Repeat(" + 1", 5000) + " }}") == "");
  CHECK(Outcome("{{ 'a'" + Repeat(" ~ 'a'", 5000) + " }}") == "");
  CHECK(Outcome("{{ 1" + Repeat(" and 1", 5000) + " }}") == "");
  CHECK(Outcome("{% if 0 %}" + Repeat("{% elif 0 %}", 5000) + "{% endif %}") == "");
}

TEST_CASE("errors name the line and the construct") {
  CHECK(Outcome("a\nb\n{% include 'x' %}") == "chat template, line 3: unsupported tag 'include'");
  CHECK(Outcome("{% foo %}") == "chat template, line 1: unknown tag 'foo'");
  CHECK(Outcome("\n{{ x|nosuch }}") == "chat template, line 2: unsupported filter 'nosuch'");
  CHECK(Outcome("\n{{ x is nosuch }}") == "chat template, line 2: unsupported test 'nosuch'");
  CHECK(Outcome("{% if 0 %}{{ x|nosuch }}{% endif %}") ==
        "chat template, line 1: unsupported filter 'nosuch'");
  CHECK(Outcome("{{ 1 +\n\n }}") ==
        "chat template, line 3: unexpected end of tag, expected an expression");
  CHECK(Outcome("{% if 1 %}\n\n") ==
        "chat template, line 2: unexpected end of template, expected 'endif'");
  CHECK(Outcome("\r\n\r\n{{ x.y }}") == "chat template, line 3: 'x' is undefined");
  CHECK(Outcome("{{ messages[0].foo.bar }}", R"({"messages":[{}]})") ==
        "chat template, line 1: 'dict object' has no attribute 'foo'");
  CHECK(Outcome("\n{{ raise_exception('no ' ~ x) }}", R"({"x":"tools"})") ==
        "chat template, line 2: raise_exception: no tools");
  CHECK(Outcome("{{ l.append(1) }}", R"({"l":[]})") ==
        "chat template, line 1: access to attribute 'append' of 'list' object is unsafe");
  Has(Outcome("{% for x in y recursive %}{% endfor %}"), "'recursive'");
  Has(Outcome("\xFF"), "byte 0 is not UTF-8");
  Has(Outcome(std::string(2 << 20, 'x')), "want at most");
}

TEST_CASE("the input must be a JSON object") {
  auto parsed = ChatTemplate::Parse("{{ x }}");
  REQUIRE(parsed.ok());
  for (std::string_view bad : {"", "[]", "1", "null", "{", "{\"x\":}", "{\"x\":\"\\ud800\"}",
                               "{\"x\":1e999}", "{}{}", "{\"x\":\"\xFF\"}"}) {
    auto runs = (*parsed)->Render(bad);
    INFO(bad);
    REQUIRE_FALSE(runs.ok());
    CHECK(runs.status().code() == absl::StatusCode::kInvalidArgument);
  }
  std::string deep = "{\"x\":" + Repeat("[", 5000) + Repeat("]", 5000) + "}";
  CHECK_FALSE((*parsed)->Render(deep).ok());
  auto render = [&](std::string_view json) { return JoinRuns(*(*parsed)->Render(json)); };
  CHECK(render(R"({"x":1,"x":2})") == "2");
  CHECK(render(R"({"x":{"a":1,"b":2,"a":3}})") == "{'a': 3, 'b': 2}");
  CHECK(render(R"({"x":9223372036854775807})") == "9223372036854775807");
  CHECK(render(R"({"x":9223372036854775808})") == "9.223372036854776e+18");
  CHECK(render(R"({"x":[123456789012345678901234567890,"1234567890123456789012"]})") ==
        "[1.2345678901234568e+29, '1234567890123456789012']");
}

TEST_CASE("parts of messages that are no text are refused by name") {
  const std::string source = "{% for m in messages %}{{ m.content }}{% endfor %}";
  const auto with = [&](const std::string& part) {
    return Outcome(source, R"({"messages": [{"role": "system", "content": "x"}, {"role": "user",
        "content": [{"type": "text", "text": "a"}, )" +
                               part + "]}]}");
  };
  Has(with(R"({"type": "image"})"), "messages[1].content[1]: a part of kind image");
  Has(with(R"({"type": "image_url", "image_url": {"url": "u"}})"), "image_url");
  Has(with(R"({"image": "file"})"), "kind image");
  Has(with(R"({"type": "input_audio"})"), "input_audio");
  Has(with(R"({"video": "file"})"), "video");
  CHECK(with(R"({"type": "text", "text": "image"})").empty());
}

}  // namespace
}  // namespace krafla

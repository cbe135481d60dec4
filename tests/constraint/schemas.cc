// JSON schemas: which texts they take, what is refused and where, how white space, escapes and the
// order of members are kept.
#include "lib/constraint/schema.h"
#include "tests/constraint/opened.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

std::shared_ptr<const Constraint> Schema(std::string_view text, SchemaOptions options = {}) {
  return Compile(ReadJsonSchema(text, options), SmallVocabulary());
}

void Check(const char* schema, const std::vector<const char*>& yes,
           const std::vector<const char*>& no, SchemaOptions options = {}) {
  const auto constraint = Schema(schema, options);
  for (const char* text : yes) {
    INFO(schema << " should take " << text);
    CHECK(Matches(constraint, text));
  }
  for (const char* text : no) {
    INFO(schema << " should not take " << text);
    CHECK_FALSE(Matches(constraint, text));
  }
}

}  // namespace

TEST_CASE("any JSON") {
  Check("{}",
        {"null", "true", "-1.5e+10", "\"a\"", "[]", "{}", "[1, [2], {\"a\": null}]",
         "{\n  \"a\": [\n    1\n  ]\n}", "{\"a\":1,\"b\":[true,false]}"},
        {"", "nul", "01", "1.", "+1", "\"a", "[1,]", "{a:1}", "[1 ,2]", " 1", "1 ", "[  1]",
         "{\"a\" : 1}", "\"\x01\"", "\"\\x\"", "NaN", "-", "1e999"});
}

TEST_CASE("numbers keep their bounds to the digit") {
  Check("{\"type\":\"integer\",\"minimum\":-13,\"maximum\":207}",
        {"-13", "-12", "-9", "-1", "0", "7", "99", "200", "207"},
        {"-14", "-20", "-130", "-0", "208", "210", "999", "1000", "1.0", "1e1", "00"});
  Check("{\"type\":\"number\",\"exclusiveMinimum\":0.25,\"maximum\":10}",
        {"0.26", "0.2500001", "1", "9.99", "10", "10.0", "3.0"},
        {"0.25", "0.250", "0.2", "0", "-1", "10.01", "11", "100", "1e0"});
  Check("{\"type\":\"number\",\"minimum\":-1.5,\"exclusiveMaximum\":0}",
        {"-1.5", "-1.50", "-1", "-0.1", "-1.49"}, {"-1.51", "-2", "0", "0.0", "-0.0", "1"});
  Check("{\"type\":\"integer\",\"multipleOf\":7,\"minimum\":10}", {"14", "21", "7000"},
        {"7", "13", "0", "-14"});
  Check(
      "{\"anyOf\":[{\"type\":\"integer\",\"maximum\":90},{\"type\":\"integer\",\"multipleOf\":7,"
      "\"minimum\":1,"
      "\"maximum\":50}]}",
      {"-3", "8", "14", "90"}, {"91", "98", "1.5"});
  Check(
      "{\"anyOf\":[{\"multipleOf\":6,\"minimum\":0},{\"multipleOf\":3,\"minimum\":-9},{\"type\":"
      "\"null\"}]}",
      {"-9", "6", "9", "null"}, {"-12", "4", "1.5"});
  Check("{\"type\":\"integer\",\"exclusiveMinimum\":99}", {"100", "12345678901"}, {"99", "5"});
  Check("{\"enum\":[1,2.5,\"x\",null,[1,{\"a\":2}]]}",
        {"1", "2.5", "2.50", "\"x\"", "null", "[1,{\"a\":2}]"},
        {"2", "2.51", "\"y\"", "[1]", "[1,{\"a\":2,\"b\":3}]"});
}

TEST_CASE("strings keep lengths in characters, patterns and formats") {
  Check("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}",
        {"\"ab\"", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\"", "\"\\n\\u00e9\"",
         "\"\\ud83d\\ude00a\""},
        {"\"a\"", "\"abcd\"", "\"\"", "\"\\u0061b\"", "\"\\ud83da\"", "\"\\/a\""});
  Check("{\"type\":\"string\",\"maxLength\":100000}", {"\"\"", "\"abc\""}, {"1"});
  Check("{\"type\":\"string\",\"pattern\":\"^[a-z]+\\\\!?$\"}", {"\"abc\"", "\"a!\""},
        {"\"A\"", "\"\"", "\"a!!\""});
  Check("{\"type\":\"string\",\"pattern\":\"b\",\"maxLength\":3}", {"\"b\"", "\"abc\""},
        {"\"abcd\"", "\"a\""});
  Check("{\"type\":\"string\",\"format\":\"date-time\"}",
        {"\"2024-02-29T23:59:59Z\"", "\"1999-12-31T00:00:00.5+02:00\""},
        {"\"2023-02-29T00:00:00Z\"", "\"2024-13-01T00:00:00Z\"", "\"2024-01-01\""});
  Check("{\"type\":\"string\",\"format\":\"ipv6\"}",
        {"\"::\"", "\"::1\"", "\"1::\"", "\"fe80::1:2\"", "\"1:2:3:4:5:6:7:8\"",
         "\"::ffff:1.2.3.4\""},
        {"\":::\"", "\"1:2\"", "\"1:2:3:4:5:6:7:8:9\"", "\"12345::\""});
}

TEST_CASE("objects: free order, required, the others") {
  const char* schema =
      "{\"type\":\"object\",\"properties\":{\"b\":{\"type\":\"integer\"},\"a\":{\"type\":"
      "\"boolean\"}},"
      "\"required\":[\"b\"],\"additionalProperties\":false}";
  Check(schema, {"{\"b\":1}", "{\"b\": 1, \"a\": true}", "{\"a\":false,\"b\":2}"},
        {"{}", "{\"a\":true}", "{\"b\":1,\"b\":2}", "{\"b\":1,\"c\":2}", "{\"b\":true}",
         "{\"b\":1,}"});
  SchemaOptions ordered;
  ordered.in_order = true;
  Check(schema, {"{\"b\":1}", "{\"b\":1,\"a\":true}"}, {"{\"a\":false,\"b\":2}", "{}"}, ordered);
  Check(
      "{\"type\":\"object\",\"properties\":{\"ab\":{\"const\":1}},\"additionalProperties\":{"
      "\"type\":\"string\"}}",
      {"{}", "{\"ab\":1}", "{\"a\":\"x\",\"abc\":\"y\",\"ab\":1}", "{\"\":\"\"}"},
      {"{\"ab\":\"x\"}", "{\"a\":1}"});
  Check(
      "{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"integer\"},\"y$\":{"
      "\"minimum\":5}},"
      "\"additionalProperties\":false,\"maxProperties\":2}",
      {"{\"x\":1}", "{\"xy\":5}", "{\"y\":7,\"x\":0}", "{\"y\":\"s\"}"},
      {"{\"xy\":4}", "{\"xy\":5.5}", "{\"z\":1}", "{\"x\":1,\"x2\":2,\"x3\":3}"});
  Check("{\"type\":\"object\",\"properties\":{\"\\u00e9\\\"\":{}},\"required\":[\"\\u00e9\\\"\"]}",
        {"{\"\xC3\xA9\\\"\":1}", "{\"\\u00e9\\\"\":1}"}, {"{}", "{\"e\":1}"});
}

TEST_CASE("arrays, references, combinations") {
  Check("{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"minItems\":2,\"maxItems\":1000}",
        {"[1,2]", "[1, 2, 3]"}, {"[1]", "[]", "[1,\"a\"]"});
  Check(
      "{\"type\":\"array\",\"prefixItems\":[{\"const\":1},{\"type\":\"string\"}],\"items\":false}",
      {"[]", "[1]", "[1,\"x\"]"}, {"[2]", "[1,2]", "[1,\"x\",3]"});
  Check("{\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\",3]},\"uniqueItems\":true}",
        {"[]", "[\"b\",\"a\"]", "[3,\"a\",\"b\"]"}, {"[\"a\",\"a\"]", "[3,3]", "[\"c\"]"});
  Check(
      "{\"$ref\":\"#/$defs/"
      "t\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},"
      "\"l\":{\"$ref\":\"#/$defs/t\"}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
      {"{\"v\":1}", "{\"v\":1,\"l\":{\"v\":2,\"l\":{\"v\":3}}}"},
      {"{\"l\":{\"v\":1}}", "{\"v\":1,\"l\":{}}"});
  Check(
      "{\"allOf\":[{\"type\":\"object\",\"required\":[\"a\"]},{\"properties\":{\"a\":{\"minimum\":"
      "3}}},"
      "{\"properties\":{\"a\":{\"type\":\"integer\"}}}]}",
      {"{\"a\":3}", "{\"a\":5,\"b\":null}"}, {"{\"a\":2}", "{\"a\":3.5}", "{}", "3"});
  Check("{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":2}]}", {"1", "2.5", "\"x\""},
        {"3", "1.5"});
  Check(
      "{\"oneOf\":[{\"properties\":{\"k\":{\"const\":\"a\"}},\"required\":[\"k\"]},"
      "{\"properties\":{\"k\":{\"const\":\"b\"},\"n\":{\"type\":\"null\"}},\"required\":[\"k\","
      "\"n\"]}],\"type\":\"object\"}",
      {"{\"k\":\"a\"}", "{\"k\":\"b\",\"n\":null}"}, {"{\"k\":\"b\"}", "{\"k\":\"c\"}", "{}"});
  Check(
      "{\"type\":\"object\",\"properties\":{\"k\":{\"enum\":[\"x\",\"y\"]}},\"required\":[\"k\"],"
      "\"if\":{\"properties\":{\"k\":{\"const\":\"x\"}}},\"then\":{\"required\":[\"a\"]},\"else\":{"
      "\"required\":[\"b\"]}}",
      {"{\"k\":\"x\",\"a\":1}", "{\"k\":\"y\",\"b\":1}"},
      {"{\"k\":\"x\",\"b\":1}", "{\"k\":\"y\"}"});
  Check("{\"not\":{\"type\":[\"object\",\"array\",\"null\",\"boolean\",\"number\"]}}", {"\"x\""},
        {"1", "null", "[]"});
}

TEST_CASE("white space can be none, or json.dumps's own") {
  SchemaOptions options;
  options.space = JsonSpace::kNone;
  Check("{}", {"[1,2]", "{\"a\":1}"}, {"[1, 2]", "{\"a\": 1}", "[\n1]"}, options);
  options.space = JsonSpace::kPython;
  Check("{}", {"[1, 2]", "{\"a\": 1, \"b\": []}"}, {"[1,2]", "{\"a\":1}", "[\n1]"}, options);
}

TEST_CASE("what is not supported is refused by name and place") {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"properties\":{\"a\":{\"contains\":{}}}}", "#/properties/a/contains (byte 31): contains"},
      {"{\"unevaluatedProperties\":false}", "unevaluatedProperties"},
      {"{\"uniqueItems\":true,\"type\":\"array\"}", "uniqueItems"},
      {"{\"type\":\"string\",\"format\":\"color\"}", "#/format (byte 26): format color"},
      {"{\"pattern\":\"(?=a)\"}", "#/pattern (byte 11): regex: byte 0: (?="},
      {"{\"type\":\"strin\"}", "no type is named strin"},
      {"{\"$ref\":\"https://example.com/x\"}", "another document"},
      {"{\"$ref\":\"#/nowhere\"}", "leads nowhere"},
      {"{\"$ref\":\"#\"}", "circle"},
      {"{\"allOf\":[{\"$ref\":\"#\"}]}", "circle"},
      {"{\"minLength\":-1}", "#/minLength (byte 13): want a whole number"},
      {"{\"properties\":[]}", "want an object"},
      {"{\"items\":3}", "want a schema"},
      {"{\"multipleOf\":0.01}", "multipleOf"},
      {"{\"a\":", "byte 5: want a value"},
      {"[1 2]", "byte 3: want , or ]"},
      {"3", "want a schema"},
  };
  for (const auto& [schema, message] : cases) {
    const auto grammar = ReadJsonSchema(schema, {});
    INFO(schema << ": " << Message(grammar.status()));
    CHECK_FALSE(grammar.ok());
    CHECK(Message(grammar.status()).find(message) != std::string_view::npos);
  }
  for (const char* schema :
       {"false", "{\"type\":\"integer\",\"minimum\":2,\"maximum\":1}",
        "{\"type\":\"object\",\"properties\":{\"a\":false},\"required\":[\"a\"]}",
        "{\"$defs\":{\"l\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/l\"},\"minItems\":1}},"
        "\"$ref\":\"#/$defs/l\"}"}) {
    INFO(schema);
    const auto grammar = ReadJsonSchema(schema, {});
    REQUIRE(grammar.ok());
    CHECK_FALSE(Constraint::Create(*grammar, SmallVocabulary()).ok());
  }
}

TEST_CASE("lenient: what cannot be kept is passed over, the rest is kept") {
  SchemaOptions lenient;
  lenient.lenient = true;
  Check("{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"integer\"},\"maxItems\":3}",
        {"[]", "[1, 2]", "[1, 1]"}, {"[1, 2, 3, 4]", "[\"a\"]"}, lenient);
  Check("{\"type\":\"string\",\"format\":\"color\",\"maxLength\":3}", {"\"red\""},
        {"\"blue\"", "1"}, lenient);
  Check("{\"type\":\"string\",\"pattern\":\"(?=a)\",\"minLength\":2}", {"\"ab\"", "\"ba\""},
        {"\"a\""}, lenient);
  Check(
      "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"}},\"unevaluatedProperties\":"
      "false}",
      {"{}", "{\"a\": null}", "{\"b\": 1}"}, {"{\"a\": 1}", "[]"}, lenient);
  Check("{\"type\":\"integer\",\"not\":{\"contains\":{}}}", {"1"}, {"\"a\""}, lenient);
  for (const char* schema : {"{\"$ref\":\"https://example.com/x\"}", "{\"type\":\"strin\"}", "3"}) {
    INFO(schema);
    CHECK_FALSE(ReadJsonSchema(schema, lenient).ok());  // it says nothing that could be kept
  }
}

TEST_CASE("nesting ends before the stack does, and always can") {
  const auto constraint = Schema("{}");
  ConstraintState state = Start(constraint);
  int depth = 0;
  while (state.AcceptText("[").ok()) REQUIRE(++depth < 1000);
  CHECK(depth > 100);
  CHECK(state.open());
  REQUIRE(state.AcceptText("]").ok());
  for (int i = 1; i < depth; ++i) REQUIRE(state.AcceptText("]").ok());
  CHECK(state.complete());
}

}  // namespace krafla::test

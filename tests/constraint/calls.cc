// Replies that are calls: markers that are special tokens, several calls, reasoning and text before
// them.
#include "lib/constraint/calls.h"

#include "lib/constraint/special_bytes.h"
#include "tests/constraint/opened.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

int32_t SomeSpecial() {
  const Tokenizer& tokenizer = SmallVocabulary()->tokenizer();
  int32_t id = 0;
  while (id < tokenizer.vocab_size() && !tokenizer.IsSpecial(id)) ++id;
  REQUIRE(id < tokenizer.vocab_size());
  return id;
}

std::shared_ptr<const Constraint> CompileCalls(const CallsSource& source) {
  return Compile(ReadCalls(source, SchemaOptions(), SmallVocabulary()->tokenizer()),
                 SmallVocabulary());
}

}  // namespace

TEST_CASE("calls have their markers around them") {
  CallsSource source;
  source.calls = {{"<call>", R"({"enum": [1, "x"]})"}};
  source.end = "</call>";
  auto constraint = CompileCalls(source);
  CHECK(Matches(constraint, "<call>1</call>"));
  CHECK(Matches(constraint, "<call>\"x\"</call>"));
  for (const char* text :
       {"", "1", "<call>2</call>", "<call>1</call><call>1</call>", "a<call>1</call>"})
    CHECK_FALSE(Matches(constraint, text));
  source.between = "</call>\n<call>";
  constraint = CompileCalls(source);
  CHECK(Matches(constraint, "<call>1</call>"));
  CHECK(Matches(constraint, "<call>1</call>\n<call>\"x\"</call>\n<call>1</call>"));
  CHECK_FALSE(Matches(constraint, "<call>1</call>\n"));
  source.no_call = "<call>";
  source.text_before = true;
  constraint = CompileCalls(source);
  for (const char* text :
       {"", "Hello <cal", "Hello\n<call>1</call>", "<call>1</call>\n<call>1</call>"})
    CHECK(Matches(constraint, text));
  for (const char* text : {"<call>", "Hello <call>2</call>", "<call>1</call> and more"})
    CHECK_FALSE(Matches(constraint, text));
  source = {};
  source.calls = {{"", R"({"const": {"a": 1}})"}};
  source.no_call = "^\\s*(\\{|\\[\\s*\\{|```(json|tool))";
  constraint = CompileCalls(source);
  for (const char* text : {"", "Hello {", "{\"a\":1}", "[1]", "```py"})
    CHECK(Matches(constraint, text));
  for (const char* text : {"{", " {}", "{\"a\":2}", "[ {", "```json"})
    CHECK_FALSE(Matches(constraint, text));
}

TEST_CASE("reasoning stands before a call") {
  CallsSource source;
  source.calls = {{"<call>", "{\"const\": 1}"}};
  source.think_begin = "<think>";
  source.think_end = "</think>";
  source.reasoning = CallsSource::kMay;
  auto constraint = CompileCalls(source);
  for (const char* text : {"<call>1", "<think>\nHm <call>.\n</think>\n\n<call>1"})
    CHECK(Matches(constraint, text));
  CHECK_FALSE(Matches(constraint, "<think>\nHm.\n<call>1"));
  source.reasoning = CallsSource::kBegun;
  constraint = CompileCalls(source);
  CHECK(Matches(constraint, "Hm.</think><call>1"));
  CHECK(Matches(constraint, "</think>\n<call>1"));
  CHECK_FALSE(Matches(constraint, "<call>1"));
}

TEST_CASE("calls that begin otherwise have schemas of their own") {
  CallsSource source;
  const char* references =
      R"({"type": "object", "properties": {"v": {"$ref": "#/$defs/a"}}, "required": ["v"], "additionalProperties": false,)"
      R"( "$defs": {"a": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/a"}}, {"type": "null"}]}}})";
  source.calls = {{"one:", R"({"enum": ["x", 7]})"},
                  {"two:", references},
                  {"three:", R"({"type": "string", "pattern": "^a+$"})"}};
  source.end = ".";
  const auto constraint = CompileCalls(source);
  for (const char* text : {"one:7.", "one:\"x\".", "two:{\"v\":[null,[]]}.", "three:\"aa\"."})
    CHECK(Matches(constraint, text));
  for (const char* text : {"one:{\"v\":null}.", "two:7.", "two:\"aa\".", "three:\"x\".", "7."})
    CHECK_FALSE(Matches(constraint, text));
}

TEST_CASE("a special token in a marker is that token and no text") {
  const Tokenizer& tokenizer = SmallVocabulary()->tokenizer();
  const int32_t special = SomeSpecial();
  const std::string spelling(*tokenizer.TokenText(special));
  const std::string begin = "a" + spelling + "b";
  CallsSource source;
  source.calls = {{begin, "{\"const\": 1}"}};
  const auto constraint = CompileCalls(source);
  ConstraintState state = Start(constraint);
  CHECK_FALSE(state.Accept(special).ok());
  std::vector<int32_t> ids;
  REQUIRE(state.ForcedTokens(&ids).ok());
  CHECK(ids.size() == 1);  // "a", which no text joins
  REQUIRE(state.AcceptText("a").ok());
  CHECK(MaskOf(state) == MaskByTokens(state));
  REQUIRE(state.ForcedTokens(&ids).ok());
  CHECK(ids == std::vector<int32_t>{special});
  CHECK_FALSE(state.AcceptText(spelling).ok());
  CHECK_FALSE(state.AcceptText(SpecialBytes(special)).ok());
  REQUIRE(state.Accept(special).ok());
  CHECK_FALSE(state.Accept(special).ok());
  REQUIRE(state.AcceptText("b1").ok());
  CHECK(state.complete());
  CHECK_FALSE(state.open());
}

TEST_CASE("special tokens go through their bytes unchanged") {
  for (const int32_t id : {0, 1, 63, 64, 151643, (1 << 24) - 1}) {
    const std::string bytes = SpecialBytes(id);
    CHECK(bytes.size() == kSpecialBytes);
    CHECK(bytes[0] == kSpecialLead);
    CHECK(SpecialId(bytes + "more") == id);
  }
}

}  // namespace krafla::test

// Grammars, schemas and patterns that were written to cost time, memory or a stack: each is refused
// with its place, within 100 ms of the thread's own time and 64 MB.
#include <ctime>
#include <string>

#include "lib/constraint/schema.h"
#include "tests/constraint/memory_peak.h"
#include "tests/constraint/opened.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

std::string Times(size_t n, std::string_view text) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += text;
  return out;
}

std::string Nested(size_t n, std::string_view open, std::string_view inside,
                   std::string_view close) {
  return Times(n, open) + std::string(inside) + Times(n, close);
}

enum class Kind { kRegex, kGbnf, kSchema };

struct Hostile {
  Kind kind;
  std::string text;
};

void AddRegexes(std::vector<Hostile>* all) {
  const auto add = [all](std::string text) { all->push_back({Kind::kRegex, std::move(text)}); };
  for (const char* text : {"(",
                           ")",
                           "[",
                           "a{",
                           "*",
                           "a**",
                           "a{3,2}",
                           "a{99999999999}",
                           "\\",
                           "\\u12",
                           "\\x",
                           "[z-a]",
                           "(?=a)",
                           "(?!a)",
                           "(?<=a)",
                           "(?<n>a)\\k<n>",
                           "(a)\\1",
                           "\\bword",
                           "\\Bx",
                           "\\p{L}",
                           "(?i)a",

                           "a{1,",
                           "\\u{110000}",
                           "\\ud800",

                           "a++b)",
                           "(?>a)",
                           "x{0,5000000}",
                           "[\\d-z"}) {
    add(text);
  }
  add(Nested(100000, "(", "a", ")"));
  add(Nested(100000, "(?:", "a", ")"));
  add(Times(30000, "("));
  add(Times(20, "(") + "a" + Times(20, "){1000}"));
  add("((((a{100}){100}){100}){100}){100}");
  add("(" + Times(5000, "a?") + "){5000}");
  add("(a|b)*a" + Times(40, "(a|b)"));
  add("(.*a.{20}){9}");
  add(".*a.{40}b");
  add(Times(70000, "a"));
  add(std::string("a\xFF", 2));
  add("[" + Times(40000, "a-") + "b");
  add(Times(3000, "(a|b|c|d)*e?") + "\\1");
}

void AddGrammars(std::vector<Hostile>* all) {
  const auto add = [all](std::string text) { all->push_back({Kind::kGbnf, std::move(text)}); };
  for (const char* text : {"",
                           "root",

                           "root := \"a\"",
                           "x ::= \"a\"",
                           "root ::= y",
                           "root ::= \"a",
                           "root ::= [a",
                           "root ::= (\"a\"",
                           "root ::= \"a\")",
                           "root ::= *",
                           "root ::= \"\\q\"",
                           "root ::= \"\\x1\"",
                           "root ::= \"\\ud800\"",
                           "root ::= [z-a]",
                           "root ::= \"a\"{",
                           "root ::= \"a\"{2,1}",
                           "root ::= \"a\"{9999999}",
                           "root ::= root",
                           "root ::= root \"a\" | \"b\"",
                           "root ::= a\na ::= b\nb ::= a | \"x\" root",
                           "root ::= \"a\" root",
                           "root ::= x x\nx ::= x | \"\" x",
                           "root ::= (\"a\"?){5,100000}",
                           "root ::= \"a\"\nroot ::= \"b\"",
                           "root ::= \"\" root | \"a\"",
                           "root ::= (\"\" | \"b\"){9,90000}",
                           "root ::= \"a\" b? root"}) {
    add(text);
  }
  add("root ::= " + Nested(100000, "(", "\"a\"", ")"));
  add("root ::= " + Times(100000, "("));
  add("root ::= " + Nested(300, "(", "\"a\"", ")"));
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 30000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + "\n";
  }
  add(chain);
  std::string deep = "root ::= r0\n";
  for (int i = 0; i < 15000; ++i) {
    deep += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " \"x\"\n";
  }
  add(deep + "r15000 ::= \"a\"");
  std::string doubling = "root ::= d0\n";  // each is twice the next: 2^40 letters
  for (int i = 0; i < 40; ++i) {
    const std::string next = " d" + std::to_string(i + 1);
    doubling += "d" + std::to_string(i) + " ::=" + next + next + "\n";
  }
  add(doubling + "d40 ::= \"a\" e");
  std::string left = "root ::= l0\n";
  for (int i = 0; i < 500; ++i) {
    left += "l" + std::to_string(i) + " ::= \"\" l" + std::to_string((i + 1) % 500) + " | \"x\"\n";
  }
  add(left);
  add("root ::= [" + Times(100000, "a"));
  add("root ::= \"" + Times(5 << 20, "a") + "\"");
  add(std::string("root ::= \"\xC3\"", 12));
}

void AddSchemas(std::vector<Hostile>* all) {
  const auto add = [all](std::string text) { all->push_back({Kind::kSchema, std::move(text)}); };
  for (const char* text :
       {"",
        "{",
        "[]",
        "7",
        "null",
        "\"x\"",
        "{\"type\":\"strin\"}",
        "{\"type\":7}",
        "{\"enum\":{}}",
        "{\"enum\":[]}",
        "{\"pattern\":\"(\"}",
        "{\"pattern\":\"(?=a)\"}",
        "{\"$ref\":\"#/x\"}",
        "{\"$ref\":\"#\"}",
        "{\"$ref\":\"http://example.com/a\"}",
        "{\"allOf\":[{\"$ref\":\"#\"}]}",
        "{\"anyOf\":[{\"$ref\":\"#/anyOf/0\"}]}",
        "{\"not\":{\"$ref\":\"#\"}}",
        "{\"contains\":{}}",
        "{\"unevaluatedProperties\":false}",
        "{\"$dynamicRef\":\"#a\"}",
        "{\"format\":\"idn-email\"}",
        "{\"minLength\":-1}",
        "{\"minLength\":1.5}",
        "{\"required\":[1]}",
        "{\"required\":\"a\"}",
        "{\"properties\":[]}",
        "{\"items\":7}",
        "{\"prefixItems\":{}}",
        "{\"multipleOf\":0}",
        "{\"type\":\"integer\",\"multipleOf\":1e300}",
        "{\"minimum\":\"1\"}",
        "{\"type\":\"number\",\"multipleOf\":0.1}",
        "{\"type\":\"string\",\"minLength\":3,\"maxLength\":2}",
        "false",
        "{\"type\":\"integer\",\"minimum\":2,\"maximum\":1}",
        "{\"additionalProperties\":[]}",
        "{\"dependentRequired\":[]}",
        "{\"type\":\"object\",\"minProperties\":2,\"maxProperties\":1}",
        "{\"a\":1}x",
        "{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"string\"}}"}) {
    add(text);
  }
  add(Nested(100000, "{\"not\":", "{}", "}"));
  add(Nested(100000, "[", "", "]"));
  add(Nested(5000, "{\"items\":", "{}", "}"));
  add(Nested(400, "{\"properties\":{\"a\":", "true", "}}"));
  add("{\"type\":\"string\",\"maxLength\":1000000000,\"pattern\":\"^(a|b)*a(a|b){30}$\"}");
  std::string doubling = "{\"$defs\":{";
  for (int i = 0; i < 60; ++i) {
    const std::string next = "{\"$ref\":\"#/$defs/d" + std::to_string(i + 1) + "\"}";
    doubling += "\"d" + std::to_string(i) + "\":{\"allOf\":[" + next + "," + next + "]},";
  }
  add(doubling + "\"d60\":{\"contains\":{}}},\"$ref\":\"#/$defs/d0\"}");
  std::string product = "{\"allOf\":[";
  for (int i = 0; i < 30; ++i) {
    product += std::string(i == 0 ? "" : ",") + "{\"anyOf\":[";
    for (int k = 0; k < 30; ++k) {
      const std::string name = "\"p" + std::to_string(i) + "_" + std::to_string(k) + "\"";
      product += std::string(k == 0 ? "" : ",") + "{\"required\":[" + name + "],\"properties\":{" +
                 name + ":{\"const\":1}}}";
    }
    product += "]}";
  }
  add(product + "]}");
  add("{\"type\":\"object\",\"patternProperties\":{\"" + Times(20000, "(") + "\":{}}}");
  add("{\"const\":" + Nested(100000, "[", "1", "]") + "}");
  add("{\"minimum\":1" + Times(100000, "0") + "}");
  add("{\"x\":\"" + Times(5 << 20, "a") + "\"}");
}

std::vector<Hostile> All() {
  std::vector<Hostile> all;
  AddRegexes(&all);
  AddGrammars(&all);
  AddSchemas(&all);
  return all;
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Status TryOne(const Hostile& hostile, const std::shared_ptr<const Vocabulary>& vocabulary) {
  StatusOr<Grammar> grammar = hostile.kind == Kind::kRegex  ? ReadRegex(hostile.text)
                              : hostile.kind == Kind::kGbnf ? ReadGbnf(hostile.text)
                                                            : ReadJsonSchema(hostile.text, {});
  if (!grammar.ok()) return grammar.status();
  return Constraint::Create(*grammar, vocabulary).status();
}

bool HasPlace(std::string_view message) {
  for (const char* place : {"byte ", "rule ", "more than", "constraint:", "at most"}) {
    if (message.find(place) != std::string_view::npos) return true;
  }
  return message.find("root") != std::string_view::npos;
}

}  // namespace

TEST_CASE("hostile sources are refused in little time and memory") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr double kSlower = 20;
#else
  constexpr double kSlower = 1;
#endif
  const auto vocabulary = SmallVocabulary();
  const std::vector<Hostile> all = All();
  CHECK(all.size() >= 100);
  for (const Hostile& hostile : all) {
    INFO(static_cast<int>(hostile.kind) << ": " << hostile.text.substr(0, 100));
    StartMemoryPeak();
    const double start = ThreadSeconds();
    const Status status = TryOne(hostile, vocabulary);
    const double seconds = ThreadSeconds() - start;
    const size_t peak = MemoryPeak();
    INFO(Message(status) << "; " << seconds << " s, " << peak << " bytes");
    CHECK_FALSE(status.ok());
    CHECK(HasPlace(Message(status)));
    CHECK(seconds < 0.1 * kSlower);
    CHECK(peak < (size_t{64} << 20));
  }
}

}  // namespace krafla::test

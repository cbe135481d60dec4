// Which texts the front ends accept: regular expressions, grammars, choices.
#include "tests/constraint/opened.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

struct Case {
  const char* source;
  std::vector<const char*> yes, no;
};

void Check(const Case& c, StatusOr<Grammar> (*read)(std::string_view)) {
  const auto constraint = Compile(read(c.source), SmallVocabulary());
  for (const char* text : c.yes) {
    INFO(c.source << " should match " << text);
    CHECK(Matches(constraint, text));
  }
  for (const char* text : c.no) {
    INFO(c.source << " should not match " << text);
    CHECK_FALSE(Matches(constraint, text));
  }
}

// r0 is `body` with the name of the next rule in the place of @, and so on; the last is "a".
std::string Chain(size_t n, std::string_view body) {
  const size_t at = body.find('@');
  std::string text = "root ::= r0\n";
  for (size_t i = 0; i < n; ++i) {
    text += "r" + std::to_string(i) + " ::= " + std::string(body.substr(0, at)) + "r" +
            std::to_string(i + 1) + std::string(body.substr(at + 1)) + "\n";
  }
  return text + "r" + std::to_string(n) + " ::= \"a\"";
}

}  // namespace

TEST_CASE("regular expressions match whole texts") {
  const Case cases[] = {
      {"abc", {"abc"}, {"", "ab", "abcd", "xabc"}},
      {"a|bc|", {"a", "bc", ""}, {"abc", "b"}},
      {"a*b+c?", {"b", "aaabbc", "bc"}, {"a", "ac", "bcc"}},
      {"(ab|c){2,3}", {"abab", "cc", "abcab", "ccc"}, {"ab", "cccc", "abababab"}},
      {"a{3}", {"aaa"}, {"aa", "aaaa"}},
      {"a{2,}", {"aa", "aaaaaaaaaaa"}, {"a", ""}},
      {"[a-cx]+", {"abcx"}, {"d", ""}},
      {"[^a-c]", {"d", "\xC3\xA9", "\xF0\x9F\x98\x80", "\n"}, {"a", "", "dd"}},
      {".", {"a", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"}, {"\n", "", "\xE2\x82"}},
      {"\\d{3}-\\w+", {"123-ab_9"}, {"12-a", "123-"}},
      {"\\s\\S", {" a", "\xC2\xA0x"}, {"a ", "  "}},
      {"^ab$", {"ab"}, {"abc"}},
      {"^$", {""}, {"a"}},
      {"a^b", {}, {"ab", "a^b"}},
      {"a$b|c", {"c"}, {"ab"}},
      {"(?:a)(?<name>b)", {"ab"}, {"a"}},
      {"\\!\\-\\/", {"!-/"}, {"\\!-/"}},
      {"\\u00e9\\x41\\u{1F600}\\uD83D\\uDE00",
       {"\xC3\xA9"
        "A\xF0\x9F\x98\x80\xF0\x9F\x98\x80"},
       {"A"}},
      {"[\\]\\-a]", {"]", "-", "a"}, {"\\"}},
      {"[-a]", {"-", "a"}, {"b"}},
      {"[\\d-z]", {"5", "-", "z"}, {"y"}},
      {"(a?){20}b", {"b", "aaab"}, {"a"}},
  };
  for (const Case& c : cases) {
    if (std::string_view(c.source) == "a^b") continue;  // matches nothing: refused, below
    Check(c, ReadRegex);
  }
}

TEST_CASE("what a regular expression cannot be is refused with its place") {
  const std::pair<const char*, const char*> cases[] = {
      {"(a", "byte 0: group is not closed"},
      {"a)", "byte 1: unmatched )"},
      {"*a", "byte 0: nothing to repeat"},
      {"a**", "byte 2: nothing to repeat"},
      {"[a", "byte 0: class is not closed"},
      {"a[z-a]", "byte 2: range of a class is out of order"},
      {"a{2,1}", "byte 1: repetition"},
      {"a{", "byte 1: {"},
      {"\\", "byte 0: \\ at the end"},
      {"ab(?=c)", "byte 2: (?= is not supported"},
      {"(?<!c)", "byte 0: (?<! is not supported"},
      {"(a)\\1", "byte 3: \\1 is not supported"},
      {"a\\b", "byte 1: \\b is not supported"},
      {"\\p{L}", "byte 0: \\p is not supported"},
      {"(?i)a", "byte 1: (?i is not supported"},
      {"\\x4", "hexadecimal"},
      {"((a{1000}){1000}){1000}", "repetitions multiply"},
      {"(()){99999}", "repetitions multiply"},
      {"(a|b)*a(a|b){20}", "regex"},
  };
  for (const auto& [pattern, message] : cases) {
    const auto grammar = ReadRegex(pattern);
    INFO(pattern << ": " << Message(grammar.status()));
    CHECK_FALSE(grammar.ok());
    if (std::string_view(pattern) != "(a|b)*a(a|b){20}") {
      CHECK(Message(grammar.status()).find(message) != std::string_view::npos);
    }
  }
  CHECK_FALSE(Constraint::Create(*ReadRegex("a^b"), SmallVocabulary()).ok());
}

TEST_CASE("choices are whole texts") {
  const std::string_view choices[] = {"yes", "no", "no way", "\xC3\xA9t\xC3\xA9", "no"};
  const auto constraint = Compile(ReadChoices(choices), SmallVocabulary());
  for (std::string_view choice : choices) CHECK(Matches(constraint, choice));
  for (const char* other : {"", "n", "yess", "no wa", "\xC3\xA9"})
    CHECK_FALSE(Matches(constraint, other));
  CHECK_FALSE(ReadChoices({}).ok());
  const std::string_view empty[] = {"a", ""};
  CHECK_FALSE(ReadChoices(empty).ok());
  const std::string_view broken[] = {"\xC3"};
  CHECK_FALSE(ReadChoices(broken).ok());
}

TEST_CASE("grammars match as llama.cpp's do") {
  const Case cases[] = {
      {"root ::= \"a\" | \"b\" root", {"a", "bba"}, {"", "b", "ab"}},
      {"# comment\nroot ::= item+ # more\nitem ::= [a-z]\n  \n", {"abc"}, {"", "A"}},
      {"root ::= (\"x\"\n  | \"y\")* \"z\"", {"z", "xyz"}, {"x"}},
      {"root ::= \"a\" |\n  \"b\"", {"a", "b"}, {}},
      {"root ::= [^\"\\\\]{2,3}", {"ab", "\xC3\xA9zz"}, {"a", "abcd", "a\"", "\\a"}},
      {"root ::= \"\\x41\\u00e9\\\"\\n\"", {"A\xC3\xA9\"\n"}, {"A"}},
      {"root ::= .", {"\n", "\xE2\x82\xAC"}, {"ab"}},
      {"root ::= \"(\" root \")\" | \"\"", {"", "()", "(((())))"}, {"(", "())"}},
      {"root ::= e\ne ::= t (\"+\" t)*\nt ::= [0-9]+ | \"(\" e \")\"",
       {"1+(2+3)+44"},
       {"1+", "(1"}},
      {"root ::= \"a\"{3} \"b\"{0,2} \"c\"{1,}", {"aaac", "aaabbcc"}, {"aac", "aaabbb", "aaa"}},
      {"root ::= s s\ns ::= \"a\" s \"b\" | \"\"", {"", "aabbab", "ab"}, {"aab", "ba"}},
      {"root ::= a\na ::= \"\" | \"x\" a", {"", "xxxxx"}, {"y"}},
      {"root ::= (\"a\" | \"a\" \"a\"){2,40}", {"aa", "aaaaaaaaaaaa"}, {"a", ""}},
      {"root ::= (\"ab\"){2,100000}", {"abab", "abababab"}, {"ab", "aba"}},
      {"root ::= [a-z_-]+ [\\]x]", {"a-_]"}, {"a"}},
  };
  for (const Case& c : cases) Check(c, ReadGbnf);
}

TEST_CASE("rules that nothing follows take no depth") {
  for (const std::string_view body : {"@", "(@)", "\"b\"? @", "\"b\" @ | \"c\""}) {
    const size_t n = body[0] == '"' && body[3] == '?' ? 1000 : 5000;  // all of those begin at once
    const auto constraint = Compile(ReadGbnf(Chain(n, body)), SmallVocabulary());
    const bool b = body.find('b') != body.npos, c = body.find('c') != body.npos;
    INFO(body);
    CHECK(Matches(constraint, "a") == !c);
    CHECK(Matches(constraint, std::string(n, 'b') + "a") == b);
    CHECK(Matches(constraint, std::string(700, 'b') + "c") == c);
    CHECK_FALSE(Matches(constraint, std::string(n + 1, 'b') + "a"));
    for (const char* text : {"", "b", "aa", "ca"}) CHECK_FALSE(Matches(constraint, text));
  }
  CHECK(Matches(ReadGbnf(Chain(15000, "@")), "a"));
  const auto names =
      Compile(ReadGbnf("root ::= a\na ::= b\nb ::= c | \"x\" a\nc ::= d\nd ::= \"y\" b?"),
              SmallVocabulary());
  for (const char* text : {"y", "xxy", "yxyy"}) CHECK(Matches(names, text));
  for (const char* text : {"", "xx", "yx"}) CHECK_FALSE(Matches(names, text));
}

TEST_CASE("rules nested too deeply are refused for that") {
  for (const std::string_view body : {"@ \"x\"", "\"(\" @ \"x\""}) {
    INFO(body);
    const auto fits = Compile(ReadGbnf(Chain(400, body)), SmallVocabulary());
    const std::string text =
        std::string(body[1] == '(' ? 400 : 0, '(') + "a" + std::string(400, 'x');
    CHECK(Matches(fits, text));
    CHECK_FALSE(Matches(fits, text + "x"));
    for (const size_t n : {401, 5000, 15000}) {
      const auto grammar = ReadGbnf(Chain(n, body));
      REQUIRE(grammar.ok());
      const Status status = Constraint::Create(*grammar, SmallVocabulary()).status();
      INFO(n << ": " << Message(status));
      CHECK(absl::IsUnimplemented(status));
      CHECK(Message(status).find("nested deeper than 400") != std::string_view::npos);
    }
  }
  // What has no end is told from it, however deep; what is too deep is left out where there is
  // more.
  const std::string deep = Chain(5000, "\"x\" @ \"x\"");
  const auto endless = Constraint::Create(*ReadGbnf(deep + " r0"), SmallVocabulary());
  CHECK(Message(endless.status()).find("no text satisfies it") != std::string_view::npos);
  const auto other =
      Compile(ReadGbnf("root ::= e | \"xy\"\ne" + deep.substr(4)), SmallVocabulary());
  CHECK(Matches(other, "xy"));
  CHECK_FALSE(Matches(other, "xx"));
}

TEST_CASE("broken grammars are refused with their place") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "no rule is named root"},
      {"root :== \"a\"", "byte 5 (line 1): want ::="},
      {"Root ::= \"a\"", "no rule is named root"},
      {"rout ::= \"a\"", "no rule is named root"},
      {"root ::= \"a\" b", "byte 13: rule b is not defined"},
      {"root ::= \"a", "byte 9 (line 1): literal is not closed"},
      {"root ::= [a", "class is not closed"},
      {"root ::= (\"a\"", "group is not closed"},
      {"root ::= \"a\")", "unexpected ')'"},
      {"root ::= *", "unexpected '*'"},
      {"root ::= \"a\"{3,2}", "want {m}"},
      {"root ::= \"\\q\"", "unknown escape"},
      {"root ::= [z-a]", "out of order"},
      {"root ::= \"a\"\nroot ::= \"b\"", "byte 13 (line 2): rule root is defined twice"},
      {"::= \"a\"", "want the name of a rule"},
      {"root ::= \"\\ud800\"", "stands for no character"},
  };
  for (const auto& [text, message] : cases) {
    const auto grammar = ReadGbnf(text);
    INFO(text << ": " << Message(grammar.status()));
    CHECK_FALSE(grammar.ok());
    CHECK(Message(grammar.status()).find(message) != std::string_view::npos);
  }
  const std::pair<const char*, const char*> compiled[] = {
      {"root ::= root \"a\" | \"b\"", "left recursion"},
      {"root ::= a \"x\"\na ::= b? root", "left recursion"},
      {"root ::= \"a\" root", "no text satisfies it"},
      {"root ::= (\"a\"?){5,100000}", "may be empty"},
  };
  for (const auto& [text, message] : compiled) {
    const auto grammar = ReadGbnf(text);
    INFO(text << ": " << Message(grammar.status()));
    const bool known = grammar.ok() || std::string_view(text).find("b?") != std::string_view::npos;
    CHECK(known);
    if (!grammar.ok()) continue;
    const auto constraint = Constraint::Create(*grammar, SmallVocabulary());
    CHECK_FALSE(constraint.ok());
    CHECK(Message(constraint.status()).find(message) != std::string_view::npos);
  }
}

}  // namespace krafla::test

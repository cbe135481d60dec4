// Masks against the oracle, each token walked alone, on the states of random walks; copies of a
// state; forced text.
#include <random>

#include "tests/constraint/opened.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

std::vector<int32_t> Ids(const std::vector<uint32_t>& bits) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < bits.size() * 32; ++id) {
    if ((bits[id / 32] >> (id % 32) & 1) != 0) ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

void WalkAtRandom(const std::shared_ptr<const Constraint>& constraint, uint32_t seed, int steps) {
  std::mt19937 random(seed);
  ConstraintState state = Start(constraint);
  for (int i = 0; i < steps; ++i) {
    const std::vector<uint32_t> mask = MaskOf(state);
    REQUIRE(mask == MaskByTokens(state));
    const std::vector<int32_t> ids = Ids(mask);
    REQUIRE(ids.empty() == !state.open());
    if (ids.empty()) {
      REQUIRE(state.complete());
      break;
    }
    REQUIRE(state.Accept(ids[random() % ids.size()]).ok());
  }
}

}  // namespace

TEST_CASE("masks equal each token walked alone") {
  const std::vector<std::pair<const char*, StatusOr<Grammar> (*)(std::string_view)>> sources = {
      {"\"([^\"\\\\]|\\\\[nt\"\\\\])*\"", ReadRegex},
      {"[^\"\\\\\\u0000-\\u001f]{3,9}", ReadRegex},
      {"(yes|no|\\d{1,3}(,\\d{3})*) \\S+", ReadRegex},
      {"root ::= \"[\" (v (\", \" v)*)? \"]\"\nv ::= root | [^\\]\\[, ]+ | \"\\\"\" [^\"]{0,200} "
       "\"\\\"\"",
       ReadGbnf},
      {"root ::= (\"if (\" e \") { \" root \"} \")*\ne ::= [a-z]{1,30} (\" + \" e)? | \"(\" e "
       "\")\"",
       ReadGbnf},
  };
  for (const auto& [source, read] : sources) {
    INFO(source);
    const auto constraint = Compile(read(source), SmallVocabulary());
    for (uint32_t seed = 0; seed < 4; ++seed) WalkAtRandom(constraint, seed, 12);
  }
}

TEST_CASE("a state refuses what its mask does not have and stays as it was") {
  const auto constraint = Compile(ReadRegex("ab*"), SmallVocabulary());
  ConstraintState state = Start(constraint);
  CHECK_FALSE(state.complete());
  CHECK_FALSE(state.AcceptText("x").ok());
  CHECK_FALSE(state.AcceptText("abx").ok());
  CHECK_FALSE(state.Accept(-1).ok());
  CHECK_FALSE(state.Accept(1 << 30).ok());
  CHECK(state.AcceptText("a").ok());
  CHECK(state.complete());
  ConstraintState copy = state;
  CHECK(copy.AcceptText("bbb").ok());
  CHECK(state.AcceptText("b").ok());
  CHECK(copy.complete());
  std::vector<uint32_t> bits(constraint->vocabulary().mask_words() + 1);
  CHECK_FALSE(state.Mask(bits).ok());
}

TEST_CASE("forced text goes up to the next choice") {
  const auto constraint = Compile(ReadRegex("name: (Ann|Anton)!"), SmallVocabulary());
  ConstraintState state = Start(constraint);
  std::string text;
  REQUIRE(state.ForcedText(&text).ok());
  CHECK(text == "name: An");
  std::vector<int32_t> ids;
  REQUIRE(state.ForcedTokens(&ids).ok());
  for (int32_t id : ids) REQUIRE(state.Accept(id).ok());
  REQUIRE(state.ForcedText(&text).ok());
  CHECK(text.size() < 8);
  REQUIRE(state.AcceptText(text + "t").ok());
  REQUIRE(state.ForcedTokens(&ids).ok());
  REQUIRE_FALSE(ids.empty());
  for (int32_t id : ids) REQUIRE(state.Accept(id).ok());
  CHECK(state.complete());
  CHECK_FALSE(state.open());
}

TEST_CASE("a walk may be long without its memory growing beyond a bound") {
  const auto constraint =
      Compile(ReadGbnf("root ::= (\"a\" | \"b\" | \"c\"){0,1000000}"), SmallVocabulary());
  ConstraintState state = Start(constraint);
  const std::string text(1000, 'a');
  for (int i = 0; i < 300; ++i) REQUIRE(state.AcceptText(text).ok());
  CHECK(state.complete());
  CHECK(state.open());
  CHECK(MaskOf(state) == MaskByTokens(state));
}

}  // namespace krafla::test

// See opened.h.
#include "tests/constraint/opened.h"

#include "tests/support/catch.h"
#include "tests/tokenizer/opened.h"

namespace krafla::test {

std::shared_ptr<const Vocabulary> SmallVocabulary() {
  static const std::shared_ptr<const Vocabulary> vocabulary = [] {
    auto opened = std::make_shared<Opened>(OpenData("digits"));
    auto made =
        Vocabulary::Create(std::shared_ptr<const Tokenizer>(opened, opened->tokenizer.get()));
    REQUIRE(made.ok());
    return *made;
  }();
  return vocabulary;
}

std::shared_ptr<const Constraint> Compile(const StatusOr<Grammar>& grammar,
                                          std::shared_ptr<const Vocabulary> vocabulary) {
  INFO(Message(grammar.status()));
  REQUIRE(grammar.ok());
  auto constraint = Constraint::Create(*grammar, std::move(vocabulary));
  INFO(Message(constraint.status()));
  REQUIRE(constraint.ok());
  return *constraint;
}

ConstraintState Start(std::shared_ptr<const Constraint> constraint) {
  auto state = ConstraintState::Create(std::move(constraint));
  INFO(Message(state.status()));
  REQUIRE(state.ok());
  return *state;
}

bool Matches(const std::shared_ptr<const Constraint>& constraint, std::string_view text) {
  ConstraintState state = Start(constraint);
  for (char c : text) {
    const Status status = state.AcceptText({&c, 1});
    if (!status.ok()) {
      REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
      return false;
    }
  }
  return state.complete();
}

bool Matches(const StatusOr<Grammar>& grammar, std::string_view text) {
  return Matches(Compile(grammar, SmallVocabulary()), text);
}

std::vector<uint32_t> MaskByTokens(const ConstraintState& state) {
  std::vector<uint32_t> bits(state.constraint().vocabulary().mask_words());
  for (size_t id = 0; id < state.constraint().vocabulary().size(); ++id) {
    ConstraintState after = state;
    if (after.Accept(static_cast<int32_t>(id)).ok()) bits[id / 32] |= 1u << (id % 32);
  }
  return bits;
}

std::vector<uint32_t> MaskOf(const ConstraintState& state) {
  std::vector<uint32_t> bits(state.constraint().vocabulary().mask_words());
  ConstraintState copy = state;
  const Status status = copy.Mask(bits);
  INFO(Message(status));
  REQUIRE(status.ok());
  return bits;
}

}  // namespace krafla::test

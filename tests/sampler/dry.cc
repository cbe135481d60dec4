// dry: the penalties against a search by definition over random texts, with and without sequence
// breakers; how breakers are found across tokens.
#include <random>
#include <string>

#include "tests/sampler/distribution.h"
#include "tests/sampler/reference.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

// Token i is the i-th of these.
constexpr std::string_view kTokens[] = {"a",   "b",  "c\n", "\n", "ab", "User",
                                        "er:", ": ", "\"x", "Us", "é",  ""};

std::shared_ptr<const Breakers> BreakersOf(std::vector<std::string_view> texts) {
  auto made = Breakers::Create(texts, static_cast<int32_t>(std::size(kTokens)),
                               [](int32_t id) { return kTokens[static_cast<size_t>(id)]; });
  REQUIRE(made.ok());
  return *made;
}

TEST_CASE("dry draws from its exact distribution") {
  const std::vector<int32_t> history = {3, 1, 7, 9, 2, 1, 7, 9, 4, 1, 7, 9};
  for (const double multiplier : {0.0, 0.4, 0.8}) {
    for (const int allowed : {1, 2, 3}) {
      INFO(multiplier << " " << allowed);
      const SamplerParam params[] = {{"multiplier", multiplier},
                                     {"base", 1.3},
                                     {"allowed_length", static_cast<double>(allowed)}};
      const auto sampler = SamplerOf("dry", params);
      for (const int32_t id : history) REQUIRE(sampler->Accept(id).ok());
      const auto values =
          reference::Dry(reference::Of(kLogits), history, {}, {}, multiplier, 1.3, allowed);
      CheckDraws(sampler.get(), kLogits, reference::Probabilities(values));
    }
  }
}

TEST_CASE("penalties of random texts, read off the distribution that is left") {
  std::mt19937 random(5);
  const auto breakers = BreakersOf({"\n", "User:", "\""});
  for (int round = 0; round < 400; ++round) {
    const SamplerParam params[] = {{"multiplier", 0.7},
                                   {"base", 1.5},
                                   {"allowed_length", 1 + static_cast<double>(random() % 3)}};
    const auto sampler = SamplerOf("dry", params);
    const bool breaking = round % 2 == 0;
    if (breaking && round % 4 == 0) sampler->SetBreakers(breakers);
    std::vector<int32_t> history;
    std::string text;
    std::vector<bool> breaks, held;
    const uint32_t kinds = 2 + random() % 11;
    for (size_t n = random() % 60; n-- > 0;) {
      history.push_back(static_cast<int32_t>(random() % kinds));
      REQUIRE(sampler->Accept(history.back()).ok());
      const size_t before = text.size();
      text += kTokens[static_cast<size_t>(history.back())];
      bool ends = false;
      for (const std::string_view breaker : {"\n", "User:", "\""}) {
        for (size_t at = text.find(breaker); at != std::string::npos;
             at = text.find(breaker, at + 1)) {
          const size_t end = at + breaker.size();
          ends |= end > before && end <= text.size();
        }
      }
      breaks.push_back(breaking && ends);
    }
    if (breaking && round % 4 != 0) sampler->SetBreakers(breakers);  // after the history
    for (const std::string_view token : kTokens) {
      held.push_back(breaking && (token.find('\n') != std::string::npos ||
                                  token.find('"') != std::string::npos));
    }
    const auto want =
        reference::Probabilities(reference::Dry(reference::Of(kLogits), history, breaks, held, 0.7,
                                                1.5, static_cast<int>(params[2].value)));
    REQUIRE(sampler->Sample(kLogits).ok());
    int32_t ids[12];
    float logprobs[12];
    REQUIRE(sampler->TopOfChain(ids, logprobs) == 12);
    for (size_t i = 0; i < 12; ++i) {
      CHECK(logprobs[i] == Approx(std::log(want[static_cast<size_t>(ids[i])])).margin(1e-5));
    }
  }
}

TEST_CASE("the window of dry, and ids that the vocabulary does not have") {
  const float logits[] = {1, 1, 0.9f};
  const SamplerParam params[] = {{"multiplier", 5}, {"last_n", 4}};
  const auto sampler = SamplerOf("dry", params);
  REQUIRE(sampler->SetParam("temperature", "t", 0).ok());
  for (const int32_t id : {1, 2, 0, 1, 2}) REQUIRE(sampler->Accept(id).ok());
  CHECK(*sampler->Sample(logits) == 0);  // "1 2 0" lies outside the window
  REQUIRE(sampler->SetParam("dry", "last_n", 5).ok());
  CHECK(*sampler->Sample(logits) == 1);
  REQUIRE(sampler->SetParam("dry", "last_n", 0).ok());
  CHECK(*sampler->Sample(logits) == 0);
  for (const int32_t id : {70000, 2, 70000, 2}) REQUIRE(sampler->Accept(id).ok());
  REQUIRE(sampler->SetParam("dry", "last_n", -1).ok());
  CHECK(*sampler->Sample(logits) == 0);
}

TEST_CASE("a long repetition makes nothing infinite") {
  const SamplerParam params[] = {{"multiplier", 100}, {"base", 10}};
  const auto sampler = SamplerOf("dry", params);
  for (int i = 0; i < 5000; ++i) REQUIRE(sampler->Accept(7).ok());
  const auto id = sampler->Sample(kLogits);
  REQUIRE(id.ok());
  CHECK(*id != 7);
  const float one[] = {-kLogits[0]};
  CHECK(*sampler->Sample(one) == 0);
}

TEST_CASE("breakers go back with a rewind and are a clone's too") {
  const SamplerParam params[] = {{"multiplier", 50}};
  const auto sampler = SamplerOf("dry", params);
  sampler->SetBreakers(BreakersOf({"User:"}));
  REQUIRE(sampler->SetParam("temperature", "t", 0).ok());
  const float logits[] = {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  for (const int32_t id : {1, 4, 0, 1, 4}) REQUIRE(sampler->Accept(id).ok());
  const SamplerMark mark = sampler->Mark();
  CHECK(*sampler->Sample(logits) == 1);  // "b ab" -> "a" again is punished
  for (const int32_t id : {9, 6, 4}) REQUIRE(sampler->Accept(id).ok());  // "Us" "er:" breaks
  CHECK(*sampler->Sample(logits) == 0);
  CHECK(*sampler->Clone()->Sample(logits) == 0);
  sampler->Rewind(mark);
  CHECK(*sampler->Sample(logits) == 1);
  sampler->SetBreakers(nullptr);
  CHECK(*sampler->Sample(logits) == 1);
}

TEST_CASE("breakers that are none") {
  const auto none = [](int32_t) { return std::string_view(); };
  const std::string long_text(65, 'x');
  const std::string_view empty[] = {""}, too_long[] = {long_text};
  CHECK(Message(Breakers::Create({}, 3, none).status()) ==
        "sampler: stage dry: got 0 breakers, want 1 to 256");
  CHECK(Message(Breakers::Create(empty, 3, none).status()) ==
        "sampler: stage dry: breaker 0: got 0 bytes, want 1 to 64");
  CHECK(Message(Breakers::Create(too_long, 3, none).status()) ==
        "sampler: stage dry: breaker 0: got 65 bytes, want 1 to 64");
}

}  // namespace
}  // namespace krafla

// What the host brings: biases, and a function of its own, right and wrong.
#include <cmath>
#include <limits>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<Sampler> Warm() {
  const SamplerParam t[] = {{"t", 1}};
  return SamplerOf("temperature", t);
}

TEST_CASE("logit_bias draws from its exact distribution") {
  const auto sampler = Warm();
  const TokenBias biases[] = {{-kInf, 7, 0}, {2.5, 10, 0}, {-1, 1, 0}, {100, 4000, 0}};
  REQUIRE(sampler->SetBiases(biases).ok());
  std::vector<float> logits(std::begin(kLogits), std::end(kLogits));
  logits[7] = -std::numeric_limits<float>::infinity();
  logits[10] += 2.5f;
  logits[1] -= 1;
  CheckDraws(sampler.get(), kLogits, Softmax(logits));
  REQUIRE(sampler->SetBiases({}).ok());
  CheckDraws(sampler.get(), kLogits, Softmax(kLogits));
}

TEST_CASE("a ban holds whatever the value, a bias cannot beat it, and not all are banned") {
  const auto sampler = Warm();
  const float logits[] = {3e38f, -3e38f};
  const TokenBias ban[] = {{-kInf, 0, 0}}, all[] = {{-kInf, 0, 0}, {-kInf, 1, 0}};
  REQUIRE(sampler->SetBiases(ban).ok());
  CHECK(*sampler->Sample(logits) == 1);
  const SamplerMark mark = sampler->Mark();
  REQUIRE(sampler->SetBiases(all).ok());
  CHECK(Message(sampler->Sample(logits).status()) ==
        "sampler: stage logit_bias: bans each of 2 tokens that are possible");
  CHECK(sampler->Mark().random.n == mark.random.n);
  int32_t id;
  float logprob;
  CHECK(sampler->TopOfChain({&id, 1}, {&logprob, 1}) == 0);
}

TEST_CASE("biases are refused by name") {
  const auto sampler = Warm();
  const auto refused = [&](std::vector<TokenBias> biases) {
    const Status status = sampler->SetBiases(biases);
    return std::string(Message(status));
  };
  CHECK(
      refused({{std::nan(""), 3, 0}}) ==
      "sampler: stage logit_bias: token 3: got nan, want a number in [-1000000, 1000000] or -inf");
  CHECK(refused({{kInf, 3, 0}}).find("got inf") != std::string::npos);
  CHECK(refused({{1e7, 3, 0}}).find("got 10000000") != std::string::npos);
  CHECK(refused({{1, -3, 0}}) == "sampler: stage logit_bias: got token -3, want 0 or more");
  CHECK(refused({{1, 3, 0}, {1, 2, 0}, {2, 3, 0}}) ==
        "sampler: stage logit_bias: token 3: got it twice");
}

// Calls a test's lambda.
template <typename Function>
CustomStage StageOf(Function* function) {
  CustomStage stage = KRAFLA_CUSTOM_STAGE_INIT;
  stage.user = function;
  stage.apply = [](void* user, krafla_candidate* candidates, size_t* n, const int32_t* ids,
                   size_t n_ids) {
    return (*static_cast<Function*>(user))(candidates, n, std::span(ids, n_ids));
  };
  return stage;
}

TEST_CASE("a custom stage changes, reorders and drops candidates") {
  const auto sampler = Warm();
  for (const int32_t id : {4, 5}) REQUIRE(sampler->Accept(id).ok());
  auto stage = [](krafla_candidate* items, size_t* n, std::span<const int32_t> ids) {
    CHECK(ids.size() == 2);
    CHECK(ids[1] == 5);
    for (size_t i = 0; i < *n; ++i) CHECK(items[i].id == static_cast<int32_t>(i));
    items[7].value = -kInf;  // dropped by value
    items[3].value += 1;     // changed
    std::swap(items[0], items[*n - 1]);
    --*n;  // id 0 is dropped by number
    return 0;
  };
  sampler->SetCustom(StageOf(&stage));
  std::vector<float> logits(std::begin(kLogits), std::end(kLogits));
  logits[7] = logits[0] = -std::numeric_limits<float>::infinity();
  logits[3] += 1;
  CheckDraws(sampler.get(), kLogits, Softmax(logits));
  CHECK(*sampler->Clone()->Sample(kLogits) >= 0);
}

TEST_CASE("what a custom stage does wrong is an error, and nothing changes") {
  int what = 0;
  auto stage = [&what](krafla_candidate* items, size_t* n, std::span<const int32_t>) {
    switch (what) {
      case 0:
        items[2].value = std::nan("");
        break;
      case 1:
        items[2].value = kInf;
        break;
      case 2:
        items[2].id = 999;
        break;
      case 3:
        items[2].id = -1;
        break;
      case 4:
        items[2].id = items[3].id;
        break;
      case 5:
        *n = 0;
        break;
      case 6:
        for (size_t i = 0; i < *n; ++i) items[i].value = -kInf;
        break;
      case 7:
        *n += 1;
        break;
      case 8:
        *n = ~size_t{0};
        break;
      case 9:
        return 17;
      default:
        break;
    }
    return 0;
  };
  const auto sampler = Warm();
  const auto twin = sampler->Clone();
  sampler->SetCustom(StageOf(&stage));
  const char* const messages[] = {
      "sampler: stage custom: token 2: got nan, want a number below infinity",
      "sampler: stage custom: token 2: got inf, want a number below infinity",
      "sampler: stage custom: token 999 is new or there twice",
      "sampler: stage custom: token -1 is new or there twice",
      "sampler: stage custom: token 3 is new or there twice",
      "sampler: stage custom: no candidate left, want at least one",
      "sampler: stage custom: no candidate left, want at least one",
      "sampler: stage custom: 13 candidates left, want at most the 12 given",
      "sampler: stage custom: 18446744073709551615 candidates left, want at most the 12 given",
      "sampler: stage custom: the host returned 17"};
  for (; what < 10; ++what) {
    const auto id = sampler->Sample(kLogits);
    REQUIRE_FALSE(id.ok());
    CHECK(Message(id.status()) == messages[what]);
    CHECK(id.status().code() ==
          (what == 9 ? absl::StatusCode::kAborted : absl::StatusCode::kInvalidArgument));
  }
  for (int i = 0; i < 100; ++i) CHECK(*sampler->Sample(kLogits) == *twin->Sample(kLogits));
}

TEST_CASE("a custom stage behind truncation sees what is left, and may be taken away") {
  const SamplerParam k[] = {{"k", 3}};
  const auto sampler = SamplerOf("top_k", k);
  auto best = [](krafla_candidate* items, size_t* n, std::span<const int32_t>) {
    CHECK(*n == 3);
    items[0] = items[2];
    *n = 1;
    return 0;
  };
  REQUIRE(sampler->AddStage("custom").ok());
  sampler->SetCustom(StageOf(&best));
  CHECK(*sampler->Sample(kLogits) == 4);  // the third best
  sampler->SetCustom(KRAFLA_CUSTOM_STAGE_INIT);
  CheckDraws(sampler.get(), kLogits,
             Restrict(Softmax(kLogits), std::vector<bool>{0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace krafla

// penalties: values by hand, read off through greedy choices and through exact distributions.
#include <limits>

#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::unique_ptr<Sampler> Penalised(std::initializer_list<SamplerParam> params,
                                   std::initializer_list<int32_t> history) {
  auto sampler = SamplerOf("penalties", std::span(params.begin(), params.size()));
  for (const int32_t id : history) REQUIRE(sampler->Accept(id).ok());
  return sampler;
}

TEST_CASE("the arithmetic by hand") {
  // 4 / 2 = 2; 4 - 2 * 0.5 - 0.25 = 2.75; -1 * 2 = -2; all exact in binary.
  const float logits[] = {4, 4, -1, 1};
  struct {
    std::initializer_list<SamplerParam> params;
    float penalised[4];
  } rows[] = {
      {{{"repeat", 2}}, {2, 4, -2, 1}},
      {{{"frequency", 0.5}}, {3, 4, -1.5f, 1}},
      {{{"presence", 0.25}}, {3.75f, 4, -1.25f, 1}},
      {{{"repeat", 2}, {"frequency", 0.5}, {"presence", 0.25}}, {0.75f, 4, -2.75f, 1}},
      {{{"frequency", -0.5}, {"presence", -0.25}}, {5.25f, 4, -0.25f, 1}},
      {{}, {4, 4, -1, 1}},
  };
  for (const auto& row : rows) {
    const auto sampler = Penalised(row.params, {0, 2, 0});
    CheckDraws(sampler.get(), logits, Softmax(row.penalised));
  }
}

TEST_CASE("last_n bounds the window") {
  // Greedy among equals tells which ids were penalised: the first that was not.
  const float logits[] = {1, 1, 1, 1, 0};
  const auto first = [&](double last_n) {
    const auto sampler = Penalised({{"presence", 0.5}, {"last_n", last_n}}, {2, 1, 0});
    REQUIRE(sampler->SetParam("temperature", "t", 0).ok());
    return *sampler->Sample(logits);
  };
  CHECK(first(0) == 0);
  CHECK(first(1) == 1);
  CHECK(first(2) == 2);
  CHECK(first(3) == 3);
  CHECK(first(1000) == 3);
  CHECK(first(-1) == 3);
}

TEST_CASE("the default window is 64 tokens, -1 the whole history") {
  const float logits[] = {1, 0.75f};
  const auto sampler = Penalised({{"presence", 0.5}}, {0});
  REQUIRE(sampler->SetParam("temperature", "t", 0).ok());
  for (int i = 0; i < 63; ++i)
    REQUIRE(sampler->Accept(9).ok());  // outside the vocabulary: no effect
  CHECK(*sampler->Sample(logits) == 1);
  REQUIRE(sampler->Accept(9).ok());
  CHECK(*sampler->Sample(logits) == 0);
  REQUIRE(sampler->SetParam("penalties", "last_n", -1).ok());
  CHECK(*sampler->Sample(logits) == 1);
  sampler->Reset();
  CHECK(*sampler->Sample(logits) == 0);
}

TEST_CASE("penalties after truncation keep a defined order") {
  auto sampler = *Sampler::Create(1);
  const SamplerParam two[] = {{"k", 2}};
  const SamplerParam presence[] = {{"presence", 2}};
  REQUIRE(sampler->AddStage("top_k", two).ok());
  REQUIRE(sampler->AddStage("penalties", presence).ok());
  REQUIRE(sampler->Accept(3).ok());
  const float logits[] = {0, 2, 1, 3};
  CHECK(*sampler->Sample(logits) == 1);
}

TEST_CASE("the smallest repeat makes nothing infinite") {
  const float logits[] = {1, 2, 3, -1};
  const auto sampler = Penalised({{"repeat", std::numeric_limits<double>::denorm_min()}}, {0, 3});
  CHECK(*sampler->Sample(logits) == 0);
}

}  // namespace
}  // namespace krafla

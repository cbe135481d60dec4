// The sampler as an object: greedy by default, errors that leave it as it was, clones, reset, fixed
// ids for a fixed seed, and no allocation once warm.
#include "lib/sampler/sampler.h"

#include <cmath>
#include <limits>
#include <string>

#include "tests/sampler/allocations.h"
#include "tests/sampler/distribution.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<Sampler> DefaultChain(uint64_t seed) {
  auto sampler = *Sampler::Create(seed);
  REQUIRE(sampler->AddDefaultStages().ok());
  REQUIRE(sampler->SetParam("penalties", "repeat", 1.1).ok());
  REQUIRE(sampler->SetParam("top_k", "k", 10).ok());
  REQUIRE(sampler->SetParam("top_p", "p", 0.97).ok());
  REQUIRE(sampler->SetParam("min_p", "p", 0.01).ok());
  REQUIRE(sampler->SetParam("temperature", "t", 1.3).ok());
  return sampler;
}

std::vector<int32_t> Generate(Sampler* sampler, int n) {
  std::vector<int32_t> ids;
  for (int i = 0; i < n; ++i) {
    const auto id = sampler->Sample(kLogits);
    REQUIRE(id.ok());
    REQUIRE(sampler->Accept(*id).ok());
    ids.push_back(*id);
  }
  return ids;
}

TEST_CASE("greedy without stages, and with stages but no temperature") {
  auto sampler = *Sampler::Create(1);
  CHECK(*sampler->Sample(kLogits) == 7);
  const float ties[] = {-kInf, 1, 2, 2};
  CHECK(*sampler->Sample(ties) == 2);
  const float one[] = {-kInf, -kInf, -1e30f};
  CHECK(*sampler->Sample(one) == 2);
  const SamplerParam k[] = {{"k", 5}};
  REQUIRE(sampler->AddStage("top_k", k).ok());
  REQUIRE(sampler->AddStage("top_p").ok());
  for (int i = 0; i < 100; ++i) CHECK(*sampler->Sample(kLogits) == 7);
  sampler = *Sampler::Create(1);
  REQUIRE(sampler->AddDefaultStages().ok());
  for (int i = 0; i < 100; ++i) CHECK(*sampler->Sample(kLogits) == 7);
}

TEST_CASE("greedy finds the largest at every place") {
  auto sampler = *Sampler::Create(1);
  for (size_t n : {1, 15, 16, 17, 100}) {
    std::vector<float> logits(n, -2);
    for (size_t i = 0; i < n; ++i) {
      logits[i] = -1;
      CHECK(*sampler->Sample(logits) == static_cast<int32_t>(i));
      logits[i] = -2;
    }
  }
}

TEST_CASE("a seed gives these ids") {
  const auto sampler = DefaultChain(42);
  CHECK(Generate(sampler.get(), 40) ==
        std::vector<int32_t>{1, 7, 7, 7, 6, 1, 1, 7,  9, 3, 9, 6, 7, 3, 9, 9, 3, 3, 3, 7,
                             3, 7, 7, 6, 4, 1, 7, 11, 7, 9, 3, 7, 4, 7, 9, 7, 7, 9, 4, 1});
  sampler->Reset();
  CHECK(Generate(sampler.get(), 5) == std::vector<int32_t>{1, 7, 7, 7, 6});
}

TEST_CASE("seeds matter, and one is drawn when none is given") {
  CHECK(Generate(DefaultChain(1).get(), 40) != Generate(DefaultChain(2).get(), 40));
  const auto a = *Sampler::Create(std::nullopt), b = *Sampler::Create(std::nullopt);
  CHECK(a->seed() != b->seed());
  CHECK((*Sampler::Create(0))->seed() == 0);
  CHECK((*Sampler::Create(~uint64_t{0}))->seed() == ~uint64_t{0});
}

TEST_CASE("a clone goes on as the original does, and apart from it") {
  const auto sampler = DefaultChain(7);
  Generate(sampler.get(), 25);
  const auto clone = sampler->Clone();
  const auto idle = sampler->Clone();
  const std::vector<int32_t> ids = Generate(sampler.get(), 50);
  CHECK(Generate(clone.get(), 50) == ids);
  CHECK(clone->seed() == 7);
  REQUIRE(clone->SetParam("top_k", "k", 1).ok());
  CHECK(*sampler->Param("top_k", "k") == 10);
  CHECK(Generate(idle.get(), 50) == ids);
}

TEST_CASE("bad logits are refused by id, and nothing changes") {
  const auto sampler = DefaultChain(7), twin = DefaultChain(7);
  Generate(sampler.get(), 3);
  Generate(twin.get(), 3);
  std::vector<float> logits(100, 0.f);
  const auto refused = [&](const std::string& text) {
    const auto id = sampler->Sample(logits);
    REQUIRE_FALSE(id.ok());
    CHECK(id.status().code() == absl::StatusCode::kInvalidArgument);
    INFO(Message(id.status()));
    CHECK(std::string(Message(id.status())).find(text) != std::string::npos);
  };
  for (const size_t at : {0, 31, 96, 99}) {
    for (const float bad : {kNan, -kNan, kInf}) {
      logits[at] = bad;
      refused("token " + std::to_string(at) + ": got ");
    }
    logits[at] = 0;
  }
  std::fill(logits.begin(), logits.end(), -kInf);
  refused("-inf for each of 100 logits");
  logits.clear();
  refused("got 0 logits");
  CHECK_FALSE(sampler->Accept(-1).ok());
  CHECK(Generate(sampler.get(), 50) == Generate(twin.get(), 50));
}

TEST_CASE("every bound of every parameter") {
  for (const StageInfo& stage : AllStages()) {
    for (const StageParam& param : stage.params) {
      INFO(stage.name << "." << param.name);
      auto sampler = *Sampler::Create(1);
      REQUIRE(sampler->AddStage(stage.name).ok());
      CHECK(*sampler->Param(stage.name, param.name) == param.initial);
      const auto set = [&](double value) {
        const Status status = sampler->SetParam(stage.name, param.name, value);
        if (!status.ok()) {
          CHECK(status.code() == absl::StatusCode::kInvalidArgument);
          const std::string text(Message(status));
          CHECK(text.find(std::string(stage.name) + ": " + std::string(param.name)) !=
                std::string::npos);
          CHECK(text.find("want a") != std::string::npos);
          const SamplerParam params[] = {{param.name, value}};
          CHECK((*Sampler::Create(1))->AddStage(stage.name, params).code() == status.code());
        }
        return status.ok();
      };
      const double infinity = std::numeric_limits<double>::infinity();
      CHECK(set(param.max));
      CHECK(set(param.min) == !param.min_excluded);
      CHECK(set(param.initial));
      CHECK_FALSE(set(param.max + 1));
      CHECK_FALSE(set(std::nextafter(param.max, infinity)));
      CHECK_FALSE(set(param.min - 1));
      CHECK_FALSE(set(std::nextafter(param.min, -infinity)));
      CHECK_FALSE(set(infinity));
      CHECK_FALSE(set(-infinity));
      CHECK_FALSE(set(std::numeric_limits<double>::quiet_NaN()));
      const double half = param.min < 1 ? 0.5 : 1.5;
      CHECK(set(half) == !param.is_integer);
      CHECK(*sampler->Param(stage.name, param.name) == (param.is_integer ? param.initial : half));
    }
  }
}

TEST_CASE("messages name stage, parameter, value and range") {
  auto sampler = *Sampler::Create(1);
  REQUIRE(sampler->AddDefaultStages().ok());
  CHECK(Message(sampler->SetParam("top_p", "p", 0)) ==
        "sampler: stage top_p: p: got 0, want a number in (0, 1]");
  CHECK(Message(sampler->SetParam("top_k", "k", 1.5)) ==
        "sampler: stage top_k: k: got 1.5, want an integer in [-1, 2147483647]");
  CHECK(Message(sampler->SetParam("temperature", "t", std::nan(""))) ==
        "sampler: stage temperature: t: got nan, want a number in [0, 1000000]");
  CHECK(Message(sampler->SetParam("penalties", "frequency", 10)) ==
        "sampler: stage penalties: frequency: got 10, want a number in [-2, 2]");
}

TEST_CASE("unknown, missing and repeated names") {
  auto sampler = *Sampler::Create(1);
  CHECK(Message(sampler->AddStage("mirostat2")) ==
        "sampler: no stage 'mirostat2', there are logit_bias, custom, penalties, dry, top_n_sigma, "
        "top_k, typical, top_p, min_p, xtc, temperature, mirostat");
  const SamplerParam wrong[] = {{"k", 3}, {"kk", 3}};
  CHECK(Message(sampler->AddStage("top_k", wrong)) ==
        "sampler: stage top_k: no parameter 'kk', there are k");
  CHECK(sampler->SetParam("top_k", "k", 1).code() == absl::StatusCode::kNotFound);
  REQUIRE(sampler->AddStage("top_k").ok());  // the failed attempt left nothing behind
  CHECK(*sampler->Param("top_k", "k") == 0);
  CHECK(sampler->AddStage("top_k").code() == absl::StatusCode::kInvalidArgument);
  CHECK(sampler->AddDefaultStages().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(sampler->Param("top_k", "p").status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("the order of the chain is the caller's") {
  // At t = 4 the best has less than 0.5, so top_p after temperature keeps more than one.
  const float logits[] = {2, 0, 0};
  const SamplerParam p[] = {{"p", 0.5}}, t[] = {{"t", 4}};
  auto before = *Sampler::Create(1), after = *Sampler::Create(1);
  REQUIRE((before->AddStage("top_p", p).ok() && before->AddStage("temperature", t).ok()));
  REQUIRE((after->AddStage("temperature", t).ok() && after->AddStage("top_p", p).ok()));
  CheckDraws(before.get(), logits, {1, 0, 0});
  CheckDraws(after.get(), logits, Restrict(Softmax(logits, 4), {true, true, false}));
}

TEST_CASE("a vocabulary may change its size between calls") {
  const auto sampler = DefaultChain(3);
  std::vector<float> logits(50000, 0.25f);
  logits[49999] = 30;
  CHECK(*sampler->Sample(logits) == 49999);
  REQUIRE(sampler->Accept(49999).ok());
  Generate(sampler.get(), 10);
  CHECK(*sampler->Sample(logits) == 49999);
}

TEST_CASE("no allocation once warm") {
  const auto sampler = DefaultChain(3);
  REQUIRE(sampler->SetParam("top_k", "k", 0).ok());
  std::vector<float> logits(20000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(i * 7919 % 20011) / 2000;
  REQUIRE(sampler->Sample(logits).ok());
  REQUIRE(sampler->Accept(1).ok());
  REQUIRE(sampler->Sample(logits).ok());
  const long before = AllocationCount();
  bool ok = true;
  for (const double t : {0.0, 0.5, 1000.0}) {
    ok &= sampler->SetParam("temperature", "t", t).ok();
    for (const double p : {0.1, 1.0}) {
      ok &= sampler->SetParam("top_p", "p", p).ok();
      for (const double k : {0.0, 1.0, 40.0, 5000.0}) {
        ok &= sampler->SetParam("top_k", "k", k).ok();
        ok &= sampler->Sample(logits).ok();
      }
    }
  }
  const long after = AllocationCount();
  CHECK(ok);
  CHECK(after == before);
}

}  // namespace
}  // namespace krafla

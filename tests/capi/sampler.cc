// The sampler through the ABI: lists, the default chain, what the host brings, log-probabilities,
// and one text for one seed on every instruction set.
#include <cmath>
#include <cstring>
#include <string>

#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

SamplerHandle NewSampler(uint64_t seed) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.seed = seed;
  options.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &options) == KRAFLA_OK);
  return SamplerHandle(raw);
}

SamplerHandle FullChain(uint64_t seed, const krafla_tokenizer* tokenizer) {
  SamplerHandle sampler = NewSampler(seed);
  REQUIRE(krafla_sampler_add_default(sampler.get()) == KRAFLA_OK);
  const struct {
    const char* stage;
    const char* name;
    double value;
  } kSet[] = {{"penalties", "repeat", 1.05}, {"penalties", "presence", 0.2},
              {"dry", "multiplier", 0.6},    {"top_n_sigma", "n", 3},
              {"top_k", "k", 100},           {"typical", "p", 0.99},
              {"top_p", "p", 0.98},          {"min_p", "p", 0.001},
              {"xtc", "probability", 0.3},   {"xtc", "threshold", 0.2},
              {"temperature", "t", 1.4},     {"temperature", "range", 0.4}};
  for (const auto& row : kSet) {
    REQUIRE(krafla_sampler_set(sampler.get(), row.stage, row.name, row.value) == KRAFLA_OK);
  }
  const krafla_bias biases[] = {{0.5, 40, 0}, {-INFINITY, 41, 0}};
  REQUIRE(krafla_sampler_set_bias(sampler.get(), biases, 2) == KRAFLA_OK);
  const krafla_string breakers[] = {{"\n", 1}, {": ", 2}};
  REQUIRE(krafla_sampler_set_breakers(sampler.get(), tokenizer, breakers, 2) == KRAFLA_OK);
  return sampler;
}

struct Reply {
  uint64_t hash = 14695981039346656037u;  // FNV-1a of the ids
  std::vector<int32_t> ids;
};

int OnToken(void* user, const krafla_token* token) {
  auto& reply = *static_cast<Reply*>(user);
  if (token->id < 0) return 0;
  reply.ids.push_back(token->id);
  for (int byte = 0; byte < 4; ++byte) {
    reply.hash =
        (reply.hash ^ ((static_cast<uint32_t>(token->id) >> (8 * byte)) & 255)) * 1099511628211u;
  }
  return 0;
}

Reply Generate(const krafla_model* model, krafla_sampler* sampler, int64_t max_tokens) {
  SessionHandle session = MakeSession(model, KRAFLA_KV_F32);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  Reply reply;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = max_tokens;
  options.ignore_end = 1;
  options.on_token = OnToken;
  options.user = &reply;
  REQUIRE(krafla_session_generate(session.get(), sampler, &options, nullptr) == KRAFLA_OK);
  return reply;
}

TokenizerHandle TokenizerOf(const krafla_model* model) {
  krafla_tokenizer* raw = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&raw, model) == KRAFLA_OK);
  return TokenizerHandle(raw);
}

}  // namespace

TEST_CASE("a seed gives one text, whatever the instruction set") {
  ModelHandle model = OpenTiny();
  TokenizerHandle tokenizer = TokenizerOf(model.get());
  SamplerHandle full = FullChain(7, tokenizer.get());
  const Reply reply = Generate(model.get(), full.get(), 200);
  CHECK(reply.ids.size() == 200);
  CHECK(reply.hash == 0xe3d581b6ab7a9a77u);
  SamplerHandle mirostat = NewSampler(8);
  const krafla_param tau = {"tau", 4};
  REQUIRE(krafla_sampler_add(mirostat.get(), "mirostat", 8, &tau, 1) == KRAFLA_OK);
  CHECK(Generate(model.get(), mirostat.get(), 200).hash == 0x5f44a0b69e8d58d5u);
  // A tokenizer may be freed before the sampler that has breakers of it.
  tokenizer.reset();
  REQUIRE(krafla_sampler_reset(full.get()) == KRAFLA_OK);
  CHECK(Generate(model.get(), full.get(), 200).ids == reply.ids);
}

TEST_CASE("stages and parameters are listed, each stage with its own") {
  krafla_stage_info stage{};
  stage.struct_size = sizeof(stage);
  krafla_param_info param{};
  param.struct_size = sizeof(param);
  std::string chain;
  size_t n_params = 0;
  for (size_t i = 0; krafla_sampler_stage_at(i, &stage) == KRAFLA_OK; ++i) {
    CHECK(std::strlen(stage.summary) > 10);
    if (stage.in_default_chain != 0) chain += std::string(stage.name) + " ";
    for (int32_t j = 0; j < stage.n_params; ++j) {
      REQUIRE(krafla_sampler_param_at(n_params++, &param) == KRAFLA_OK);
      CHECK(std::string(param.stage) == stage.name);
    }
  }
  CHECK(chain ==
        "logit_bias custom penalties dry top_n_sigma top_k typical top_p min_p xtc temperature ");
  CHECK(krafla_sampler_param_at(n_params, &param) == KRAFLA_E_NOT_FOUND);
  CHECK(krafla_sampler_stage_at(SIZE_MAX, &stage) == KRAFLA_E_NOT_FOUND);
}

TEST_CASE("setting parameters by name") {
  SamplerHandle sampler = NewSampler(1);
  CHECK(krafla_sampler_set(sampler.get(), "top_k", "k", 2) == KRAFLA_E_NOT_FOUND);
  REQUIRE(krafla_sampler_add_default(sampler.get()) == KRAFLA_OK);
  CHECK(krafla_sampler_add_default(sampler.get()) == KRAFLA_E_STATE);
  CHECK(krafla_sampler_set(sampler.get(), "top_k", "k", 2) == KRAFLA_OK);
  CHECK(krafla_sampler_set(sampler.get(), "top_k", "k", std::nan("")) == KRAFLA_E_ARGUMENT);
  CHECK(std::string(krafla_error_message()) ==
        "sampler: stage top_k: k: got nan, want an integer in [-1, 2147483647]");
  CHECK(krafla_sampler_set(sampler.get(), "top_k", "p", 2) == KRAFLA_E_NOT_FOUND);
  CHECK(krafla_sampler_set(sampler.get(), "top_q", "k", 2) == KRAFLA_E_NOT_FOUND);
}

TEST_CASE("log-probabilities before and behind the chain") {
  ModelHandle model = OpenTiny();
  SamplerHandle sampler = NewSampler(3);
  REQUIRE(krafla_sampler_get_chosen(sampler.get(), nullptr, 0, nullptr, nullptr, nullptr) ==
          KRAFLA_E_STATE);
  const krafla_param k = {"k", 3}, t = {"t", 2};
  REQUIRE(krafla_sampler_add(sampler.get(), "top_k", 5, &k, 1) == KRAFLA_OK);
  REQUIRE(krafla_sampler_add(sampler.get(), "temperature", 11, &t, 1) == KRAFLA_OK);
  const auto session = MakeSession(model.get(), KRAFLA_KV_F32);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  options.max_tokens = 10;
  options.ignore_end = 1;
  options.logprobs = 1;
  options.n_top = 5;
  const auto check = [](const auto& token) {
    REQUIRE(token.n_top == 5);
    REQUIRE(token.n_chain_top == 3);
    double total = 0;
    bool found = false;
    for (int i = 0; i < 3; ++i) {
      CHECK(token.chain_top_ids[i] == token.top_ids[i]);
      // Behind the chain differences are halved by the temperature.
      CHECK(token.chain_top_logprobs[i] - token.chain_top_logprobs[0] ==
            Approx((token.top_logprobs[i] - token.top_logprobs[0]) / 2).margin(1e-5));
      total += std::exp(token.chain_top_logprobs[i]);
      if (token.chain_top_ids[i] == token.id) {
        found = true;
        CHECK(token.chain_logprob == Approx(token.chain_top_logprobs[i]).margin(1e-6));
        CHECK(token.logprob == Approx(token.top_logprobs[i]).margin(1e-6));
      }
    }
    CHECK(found);
    CHECK(total == Approx(1));
  };
  struct Call {
    decltype(check)& function;
    int n = 0;
  } call{check};
  options.user = &call;
  options.on_token = [](void* user, const krafla_token* token) {
    if (token->id >= 0) {
      static_cast<Call*>(user)->function(*token);
      ++static_cast<Call*>(user)->n;
    }
    return 0;
  };
  REQUIRE(krafla_session_generate(session.get(), sampler.get(), &options, nullptr) == KRAFLA_OK);
  CHECK(call.n == 10);
  float logprob = 1, logprobs[8];
  int32_t ids[8];
  size_t n = 0;
  REQUIRE(krafla_sampler_get_chosen(sampler.get(), &logprob, 8, ids, logprobs, &n) == KRAFLA_OK);
  CHECK(n == 3);
  CHECK(logprob <= 0);

  options.on_token = nullptr;
  REQUIRE(krafla_session_start(session.get(), nullptr, 0, sampler.get(), &options) == KRAFLA_OK);
  krafla_event event = KRAFLA_EVENT_INIT;
  int events = 0;
  do {
    REQUIRE(krafla_session_poll(session.get(), &event, -1) == KRAFLA_OK);
    if (event.kind != KRAFLA_EVENT_TOKEN || event.id < 0) continue;
    check(event);
    ++events;
  } while (event.kind != KRAFLA_EVENT_END);
  CHECK(events == 10);
}

TEST_CASE("a custom stage through the ABI") {
  SamplerHandle sampler = NewSampler(1);
  krafla_custom_stage stage = KRAFLA_CUSTOM_STAGE_INIT;
  int answer = 0;
  stage.user = &answer;
  stage.apply = [](void* user, krafla_candidate* candidates, size_t* n, const int32_t*, size_t) {
    candidates[0] = candidates[1];
    *n = 1;
    return *static_cast<int*>(user);
  };
  REQUIRE(krafla_sampler_set_custom(sampler.get(), &stage) == KRAFLA_OK);
  const float logits[] = {9, 3, 3};
  int32_t id = -1;
  REQUIRE(krafla_sampler_sample(sampler.get(), logits, 3, &id) == KRAFLA_OK);
  CHECK(id == 1);
  answer = 5;
  CHECK(krafla_sampler_sample(sampler.get(), logits, 3, &id) == KRAFLA_E_CALLBACK);
  CHECK(krafla_sampler_get_chosen(sampler.get(), nullptr, 0, nullptr, nullptr, nullptr) ==
        KRAFLA_E_STATE);
  // It may not call its own sampler.
  stage.user = sampler.get();
  stage.apply = [](void* user, krafla_candidate*, size_t*, const int32_t*, size_t) {
    return krafla_sampler_accept(static_cast<krafla_sampler*>(user), 1) == KRAFLA_E_STATE ? 0 : 1;
  };
  REQUIRE(krafla_sampler_set_custom(sampler.get(), &stage) == KRAFLA_OK);
  CHECK(krafla_sampler_sample(sampler.get(), logits, 3, &id) == KRAFLA_OK);
  REQUIRE(krafla_sampler_set_custom(sampler.get(), nullptr) == KRAFLA_OK);
  CHECK(krafla_sampler_sample(sampler.get(), logits, 3, &id) == KRAFLA_OK);
  CHECK(id == 0);
}

}  // namespace krafla::test

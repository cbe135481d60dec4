// Constraints and what was generated under them, for the tests of this folder.
#ifndef KRAFLA_TESTS_CAPI_CONSTRAINED_H_
#define KRAFLA_TESTS_CAPI_CONSTRAINED_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "krafla/krafla_constraint.h"
#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {

using ConstraintHandle =
    std::unique_ptr<krafla_constraint, Deleter<krafla_constraint, krafla_constraint_free>>;
using StateHandle = std::unique_ptr<krafla_constraint_state,
                                    Deleter<krafla_constraint_state, krafla_constraint_state_free>>;

struct Reply {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<float> logprobs;
  int32_t finish = 0;
  friend bool operator==(const Reply& a, const Reply& b) {
    return a.text == b.text && a.ids == b.ids && a.logprobs == b.logprobs && a.finish == b.finish;
  }
};

inline TokenizerHandle MakeTokenizer(const krafla_model* model) {
  krafla_tokenizer* raw = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&raw, model) == KRAFLA_OK);
  return TokenizerHandle(raw);
}

inline ConstraintHandle Compile(const krafla_tokenizer* tokenizer, int32_t kind,
                                const std::vector<std::string_view>& texts) {
  std::vector<krafla_string> raw;
  for (const std::string_view text : texts) raw.push_back({text.data(), text.size()});
  krafla_constraint* out = nullptr;
  const int32_t code =
      krafla_constraint_compile(&out, tokenizer, kind, raw.data(), raw.size(), nullptr);
  INFO(krafla_error_message());
  REQUIRE(code == KRAFLA_OK);
  return ConstraintHandle(out);
}

inline StateHandle MakeState(const krafla_constraint* constraint) {
  krafla_constraint_state* raw = nullptr;
  REQUIRE(krafla_constraint_state_create(&raw, constraint) == KRAFLA_OK);
  return StateHandle(raw);
}

inline krafla_constraint_state_info InfoOf(const krafla_constraint_state* state) {
  krafla_constraint_state_info info{};
  info.struct_size = sizeof(info);
  REQUIRE(krafla_constraint_state_get_info(state, &info) == KRAFLA_OK);
  return info;
}

// Greedy for t = 0.
inline SamplerHandle MakeSampler(double t) {
  krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
  options.seed = 11;
  options.has_seed = 1;
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, &options) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  REQUIRE(krafla_sampler_add_default(raw) == KRAFLA_OK);
  REQUIRE(krafla_sampler_set(raw, "penalties", "repeat", 1.05) == KRAFLA_OK);
  REQUIRE(krafla_sampler_set(raw, "temperature", "t", t) == KRAFLA_OK);
  return sampler;
}

}  // namespace krafla::test

#endif  // KRAFLA_TESTS_CAPI_CONSTRAINED_H_

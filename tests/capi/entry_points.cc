// Every entry point with what no caller should pass: NULL, bad enums, absurd lengths, ids out of
// range. A code and a message come back, and the objects go on working.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/capi/fixture.h"
#include "tests/support/catch.h"

namespace krafla::test {
namespace {

// Argument errors name what was wrong.
void RequireArgumentError(int32_t code) {
  REQUIRE(code == KRAFLA_E_ARGUMENT);
  REQUIRE(std::strlen(krafla_error_message()) > 5);
  REQUIRE(std::strstr(krafla_error_message(), "operator()") == nullptr);
}

}  // namespace

TEST_CASE("NULL handles and results are refused") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get());
  krafla_session* s = nullptr;
  krafla_tokenizer* t = nullptr;
  krafla_template* c = nullptr;
  krafla_rendered* r = nullptr;
  krafla_sampler* p = nullptr;
  const int32_t* ids = nullptr;
  const float* row = nullptr;
  size_t n = 0;
  int32_t id = 0;
  RequireArgumentError(krafla_runtime_create(nullptr, nullptr));
  RequireArgumentError(krafla_runtime_get_info(nullptr, nullptr));
  RequireArgumentError(krafla_model_open_path(nullptr, nullptr, "x", 1, nullptr));
  RequireArgumentError(krafla_model_open_memory(nullptr, nullptr, "x", 1, nullptr));
  RequireArgumentError(krafla_model_open_reader(nullptr, nullptr, nullptr, nullptr));
  RequireArgumentError(krafla_model_open_fd(nullptr, nullptr, 0, 0, 0, nullptr));
  RequireArgumentError(krafla_model_get_info(model.get(), nullptr));
  RequireArgumentError(krafla_model_get_info(nullptr, nullptr));
  RequireArgumentError(krafla_model_get_end_ids(nullptr, &ids, &n));
  RequireArgumentError(krafla_model_get_end_ids(model.get(), nullptr, &n));
  RequireArgumentError(krafla_model_get_metadata(nullptr, 0, nullptr, nullptr, nullptr));
  RequireArgumentError(krafla_model_get_tensor(model.get(), 0, nullptr, nullptr));
  RequireArgumentError(krafla_tokenizer_from_model(nullptr, model.get()));
  RequireArgumentError(krafla_tokenizer_from_model(&t, nullptr));
  RequireArgumentError(krafla_tokenizer_open_path(nullptr, "x", 1));
  RequireArgumentError(krafla_tokenizer_encode(nullptr, "x", 1, 0, nullptr, 0, &n));
  RequireArgumentError(krafla_tokenizer_encode_pieces(nullptr, nullptr, 0, 0, nullptr, 0, &n));
  RequireArgumentError(krafla_tokenizer_decode(nullptr, &id, 1, 0, nullptr, 0, &n));
  RequireArgumentError(krafla_tokenizer_find(nullptr, "x", 1, &id));
  RequireArgumentError(krafla_tokenizer_is_special(nullptr, 0, &id));
  RequireArgumentError(krafla_template_from_model(&c, nullptr));
  RequireArgumentError(krafla_template_from_tokenizer(&c, nullptr));
  RequireArgumentError(krafla_template_parse(nullptr, "x", 1));
  RequireArgumentError(krafla_template_parse(&c, nullptr, 1));
  RequireArgumentError(krafla_template_builtin(nullptr, "chatml", 6));
  RequireArgumentError(krafla_template_render(&r, nullptr, nullptr, "{}", 2));
  RequireArgumentError(krafla_rendered_get_pieces(nullptr, nullptr, &n));
  RequireArgumentError(krafla_plan_path(nullptr, "x", 1, nullptr, nullptr));
  RequireArgumentError(krafla_plan_session(nullptr, model.get(), nullptr));
  RequireArgumentError(krafla_session_create(&s, nullptr, nullptr));
  RequireArgumentError(krafla_session_create(nullptr, model.get(), nullptr));
  RequireArgumentError(krafla_session_get_info(nullptr, nullptr));
  RequireArgumentError(krafla_session_get_ids(nullptr, &ids, &n));
  RequireArgumentError(krafla_session_get_logits(nullptr, &row, &n));
  RequireArgumentError(krafla_session_append(nullptr, &id, 1, nullptr));
  RequireArgumentError(krafla_session_append(session.get(), nullptr, 1, nullptr));
  RequireArgumentError(krafla_session_begin(nullptr, &id, 1, nullptr));
  RequireArgumentError(krafla_session_step(nullptr, 0));
  RequireArgumentError(krafla_session_abandon(nullptr));
  RequireArgumentError(krafla_session_append_batch(nullptr, nullptr, nullptr, 1));
  RequireArgumentError(krafla_session_truncate(nullptr, 0));
  RequireArgumentError(krafla_session_fork(&s, nullptr));
  RequireArgumentError(krafla_session_cancel(nullptr));
  RequireArgumentError(krafla_session_generate(session.get(), nullptr, nullptr, nullptr));
  krafla_event event = KRAFLA_EVENT_INIT;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  SamplerHandle sampler(nullptr);
  REQUIRE(krafla_sampler_create(&p, nullptr) == KRAFLA_OK);
  sampler.reset(p);
  RequireArgumentError(krafla_session_append_text(nullptr, "x", 1, 0, nullptr));
  RequireArgumentError(krafla_session_append_text(session.get(), nullptr, 1, 0, nullptr));
  RequireArgumentError(krafla_session_edit(nullptr, &id, 1, nullptr));
  RequireArgumentError(krafla_session_edit(session.get(), nullptr, 1, nullptr));
  RequireArgumentError(krafla_session_embed(nullptr, &id, 1, nullptr, nullptr, 0, &n));
  RequireArgumentError(krafla_session_embed(session.get(), &id, 1, nullptr, nullptr, 9999, &n));
  RequireArgumentError(krafla_session_embed(session.get(), nullptr, 0, nullptr, nullptr, 0, &n));
  RequireArgumentError(krafla_session_save(nullptr, nullptr, 0, &n, nullptr));
  RequireArgumentError(krafla_session_save(session.get(), nullptr, 1, &n, nullptr));
  RequireArgumentError(krafla_session_save(session.get(), nullptr, 0, nullptr, nullptr));
  RequireArgumentError(krafla_session_save_path(nullptr, "x", 1, nullptr));
  RequireArgumentError(krafla_session_save_path(session.get(), nullptr, 1, nullptr));
  RequireArgumentError(krafla_session_restore(nullptr, &id, 1, nullptr));
  RequireArgumentError(krafla_session_restore(session.get(), nullptr, 1, nullptr));
  RequireArgumentError(krafla_session_restore_path(nullptr, "x", 1, nullptr));
  RequireArgumentError(krafla_session_begin_generate(nullptr, sampler.get(), nullptr));
  RequireArgumentError(krafla_session_begin_generate(session.get(), nullptr, nullptr));
  RequireArgumentError(krafla_session_get_result(nullptr, &result));
  RequireArgumentError(krafla_session_get_result(session.get(), nullptr));
  RequireArgumentError(krafla_session_start(nullptr, &id, 1, nullptr, nullptr));
  RequireArgumentError(krafla_session_start(session.get(), nullptr, 1, nullptr, nullptr));
  RequireArgumentError(krafla_session_poll(nullptr, &event, 0));
  RequireArgumentError(krafla_session_poll(session.get(), nullptr, 0));
  RequireArgumentError(krafla_logits_to_logprobs(nullptr, 1, nullptr));
  RequireArgumentError(krafla_logits_get_top(nullptr, 1, 1, nullptr, nullptr));
  RequireArgumentError(krafla_sampler_create(nullptr, nullptr));
  RequireArgumentError(krafla_sampler_add(nullptr, "top_k", 5, nullptr, 0));
  RequireArgumentError(krafla_sampler_sample(nullptr, nullptr, 0, &id));
  RequireArgumentError(krafla_sampler_accept(nullptr, 0));
  RequireArgumentError(krafla_sampler_reset(nullptr));
  RequireArgumentError(krafla_sampler_get_seed(nullptr, nullptr));
  RequireArgumentError(krafla_sampler_clone(&p, nullptr));
  RequireArgumentError(krafla_sampler_param_at(0, nullptr));
  RequireArgumentError(krafla_sampler_stage_at(0, nullptr));
  RequireArgumentError(krafla_sampler_add_default(nullptr));
  RequireArgumentError(krafla_sampler_set(nullptr, "top_k", "k", 1));
  RequireArgumentError(krafla_sampler_set(sampler.get(), nullptr, "k", 1));
  RequireArgumentError(krafla_sampler_set(sampler.get(), "top_k", nullptr, 1));
  RequireArgumentError(krafla_sampler_set_bias(nullptr, nullptr, 0));
  RequireArgumentError(krafla_sampler_set_bias(sampler.get(), nullptr, 1));
  RequireArgumentError(krafla_sampler_set_custom(nullptr, nullptr));
  const krafla_string newline = {"\n", 1}, no_text = {nullptr, 1};
  RequireArgumentError(krafla_sampler_set_breakers(nullptr, nullptr, nullptr, 0));
  RequireArgumentError(krafla_sampler_set_breakers(sampler.get(), nullptr, &newline, 1));
  RequireArgumentError(krafla_sampler_set_breakers(sampler.get(), nullptr, nullptr, 1));
  RequireArgumentError(krafla_sampler_set_breakers(sampler.get(), nullptr, &no_text, 1));
  RequireArgumentError(krafla_sampler_get_chosen(nullptr, nullptr, 0, nullptr, nullptr, &n));
  RequireArgumentError(krafla_sampler_get_chosen(sampler.get(), nullptr, 1, nullptr, nullptr, &n));
  RequireArgumentError(krafla_convert(nullptr));
  RequireArgumentError(
      krafla_measure_perplexity(nullptr, model.get(), nullptr, "x", 1, nullptr, nullptr, nullptr));
  RequireArgumentError(
      krafla_measure_drift(nullptr, model.get(), model.get(), nullptr, "x", 1, nullptr));
  krafla_runtime_free(nullptr);
  krafla_model_free(nullptr);
  krafla_tokenizer_free(nullptr);
  krafla_template_free(nullptr);
  krafla_rendered_free(nullptr);
  krafla_session_free(nullptr);
  krafla_sampler_free(nullptr);
}

TEST_CASE("values out of range are refused, and the session goes on") {
  ModelHandle model = OpenTiny();
  SessionHandle session = MakeSession(model.get());
  for (const int32_t id : {-1, 512, INT32_MAX, INT32_MIN}) {
    RequireArgumentError(krafla_session_append(session.get(), &id, 1, nullptr));
  }
  RequireArgumentError(krafla_session_append(session.get(), kPrompt.data(), SIZE_MAX, nullptr));
  krafla_append_options append = KRAFLA_APPEND_OPTIONS_INIT;
  append.logits = 7;
  RequireArgumentError(krafla_session_append(session.get(), kPrompt.data(), 1, &append));
  append.logits = KRAFLA_LOGITS_ALL;  // without on_logits
  RequireArgumentError(krafla_session_append(session.get(), kPrompt.data(), 1, &append));
  REQUIRE(krafla_session_truncate(session.get(), 1) == KRAFLA_E_ARGUMENT);
  REQUIRE(krafla_session_truncate(session.get(), -1) == KRAFLA_E_ARGUMENT);
  const std::vector<int32_t> too_many(257, 1);
  REQUIRE(krafla_session_append(session.get(), too_many.data(), too_many.size(), nullptr) ==
          KRAFLA_E_CONTEXT);
  const float* row = nullptr;
  size_t n = 0;
  REQUIRE(krafla_session_get_logits(session.get(), &row, &n) == KRAFLA_E_STATE);
  REQUIRE(krafla_session_step(session.get(), -1) == KRAFLA_E_STATE);
  REQUIRE(krafla_session_append(session.get(), kPrompt.data(), kPrompt.size(), nullptr) ==
          KRAFLA_OK);
  REQUIRE(Ids(session.get()) == kPrompt);

  krafla_session_options options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_session* refused = nullptr;
  for (const int64_t context : {int64_t{-1}, INT64_MAX, INT64_MIN}) {
    options.context = context;
    REQUIRE(krafla_session_create(&refused, model.get(), &options) < 0);
  }
  options.context = 0;
  options.kv = 99;
  RequireArgumentError(krafla_session_create(&refused, model.get(), &options));
  options.kv = 0;
  options.batch = INT64_MAX;
  REQUIRE(krafla_session_create(&refused, model.get(), &options) < 0);
  REQUIRE(refused == nullptr);
}

TEST_CASE("samplers refuse what is not a number or out of bounds") {
  krafla_sampler* raw = nullptr;
  REQUIRE(krafla_sampler_create(&raw, nullptr) == KRAFLA_OK);
  SamplerHandle sampler(raw);
  REQUIRE(krafla_sampler_add(sampler.get(), "no_such_stage", 13, nullptr, 0) == KRAFLA_E_NOT_FOUND);
  for (const double value : {std::nan(""), double{INFINITY}, -double{INFINITY}, -1.0, 2.0}) {
    const krafla_param param = {"p", value};
    RequireArgumentError(krafla_sampler_add(sampler.get(), "top_p", 5, &param, 1));
  }
  krafla_param_info info{};
  info.struct_size = sizeof(info);
  size_t n_params = 0;
  while (krafla_sampler_param_at(n_params, &info) == KRAFLA_OK) {
    REQUIRE(info.min <= info.default_value);
    REQUIRE(info.default_value <= info.max);
    ++n_params;
  }
  REQUIRE(n_params >= 8);
  const float bad[] = {0, std::numeric_limits<float>::quiet_NaN()};
  int32_t id = -1;
  RequireArgumentError(krafla_sampler_sample(sampler.get(), bad, 2, &id));
  RequireArgumentError(krafla_sampler_sample(sampler.get(), bad, 0, &id));
  const float tie[] = {1, 3, 3};
  REQUIRE(krafla_sampler_sample(sampler.get(), tie, 3, &id) == KRAFLA_OK);
  REQUIRE(id == 1);
}

TEST_CASE("files that are none give an error that names them") {
  krafla_model* model = nullptr;
  const std::string missing = "/nonexistent/model.mlb";
  const int32_t code =
      krafla_model_open_path(&model, nullptr, missing.data(), missing.size(), nullptr);
  REQUIRE((code == KRAFLA_E_IO || code == KRAFLA_E_NOT_FOUND));
  REQUIRE(std::strstr(krafla_error_message(), missing.c_str()) != nullptr);
  REQUIRE(krafla_model_open_memory(&model, nullptr, "not a model", 11, nullptr) == KRAFLA_E_FILE);
  const std::string folder = "/tmp";
  REQUIRE(krafla_model_open_path(&model, nullptr, folder.data(), folder.size(), nullptr) < 0);
  const std::string with_nul("/tmp\0/x", 7);
  REQUIRE(krafla_model_open_path(&model, nullptr, with_nul.data(), with_nul.size(), nullptr) < 0);
  REQUIRE(krafla_model_open_path(&model, nullptr, nullptr, 5, nullptr) == KRAFLA_E_ARGUMENT);
  REQUIRE(krafla_model_open_fd(&model, nullptr, -1, 0, 0, nullptr) < 0);
  REQUIRE(model == nullptr);
}

TEST_CASE("a small buffer is told the size it needs") {
  ModelHandle model = OpenTiny();
  krafla_tokenizer* raw = nullptr;
  REQUIRE(krafla_tokenizer_from_model(&raw, model.get()) == KRAFLA_OK);
  TokenizerHandle tokenizer(raw);
  const std::string text = "In the beginning God created";
  size_t n = 0;
  REQUIRE(krafla_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, nullptr, 0, &n) ==
          KRAFLA_E_BUFFER);
  REQUIRE(n > 0);
  std::vector<int32_t> ids(n);
  size_t again = 0;
  REQUIRE(krafla_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0, ids.data(), n,
                                  &again) == KRAFLA_OK);
  REQUIRE(again == n);
  std::string decoded(text.size(), ' ');
  size_t length = 0;
  REQUIRE(krafla_tokenizer_decode(tokenizer.get(), ids.data(), n, 0, decoded.data(), decoded.size(),
                                  &length) == KRAFLA_OK);
  REQUIRE(decoded == text);
  REQUIRE(krafla_tokenizer_encode(tokenizer.get(), text.data(), text.size(), 0x80, nullptr, 0,
                                  &n) == KRAFLA_E_UNSUPPORTED);
  REQUIRE(krafla_tokenizer_encode(tokenizer.get(), "\xFF", 1, 0, nullptr, 0, &n) ==
          KRAFLA_E_ARGUMENT);
}

}  // namespace krafla::test

/* The public headers are C99, and the structs keep the layout that ABI 1 promised. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "krafla/krafla.h"
#include "krafla/krafla_batch.h"
#include "krafla/krafla_constraint.h"
#include "krafla/krafla_residency.h"
#include "krafla/krafla_tools.h"

/* A negative array size is a compile error: C99's static assertion. */
#define CHECK(name, condition) typedef char check_##name[(condition) ? 1 : -1]

#if UINTPTR_MAX == UINT64_MAX
CHECK(runtime_threads, offsetof(krafla_runtime_options, threads) == 8);
CHECK(runtime_parallel, offsetof(krafla_runtime_options, parallel_for) == 16);
CHECK(runtime_budget, offsetof(krafla_runtime_options, budget) == 72);
CHECK(runtime_size, sizeof(krafla_runtime_options) == 88);
CHECK(runtime_info_size, sizeof(krafla_runtime_info) == 80);
CHECK(model_options, sizeof(krafla_model_options) == 40);
CHECK(model_info_vocab, offsetof(krafla_model_info, n_vocab) == 24);
CHECK(model_info_size, sizeof(krafla_model_info) == 96);
CHECK(reader_size, sizeof(krafla_reader) == 32);
CHECK(tensor_info_size, sizeof(krafla_tensor_info) == 64);
CHECK(piece_size, sizeof(krafla_piece) == 24);
CHECK(tokenizer_info_size, sizeof(krafla_tokenizer_info) == 24);
CHECK(session_options_size, sizeof(krafla_session_options) == 40);
CHECK(plan_size, sizeof(krafla_plan) == 80);
CHECK(session_info_size, sizeof(krafla_session_info) == 48);
CHECK(append_size, sizeof(krafla_append_options) == 48);
CHECK(sampler_options_size, sizeof(krafla_sampler_options) == 24);
CHECK(param_info_size, sizeof(krafla_param_info) == 56);
CHECK(append_user, offsetof(krafla_append_options, user) == 32);
CHECK(token_length, offsetof(krafla_token, text_length) == 32);
CHECK(token_top, offsetof(krafla_token, top_logprobs) == 56);
CHECK(token_size, sizeof(krafla_token) == 88);
CHECK(candidate_size, sizeof(krafla_candidate) == 16);
CHECK(bias_size, sizeof(krafla_bias) == 16);
CHECK(custom_size, sizeof(krafla_custom_stage) == 24);
CHECK(stage_info_size, sizeof(krafla_stage_info) == 32);
CHECK(string_size, sizeof(krafla_string) == 16);
CHECK(embed_size, sizeof(krafla_embed_options) == 32);
CHECK(save_size, sizeof(krafla_save_options) == 16);
CHECK(restore_size, sizeof(krafla_restore_options) == 32);
CHECK(event_length, offsetof(krafla_event, text_length) == 64);
CHECK(event_size, sizeof(krafla_event) == 120);
CHECK(speculation_draft, offsetof(krafla_speculation, draft) == 16);
CHECK(scheduler_options_size, sizeof(krafla_scheduler_options) == 88);
CHECK(scheduler_cache, offsetof(krafla_scheduler_options, cache_bytes) == 48);
CHECK(scheduler_info_size, sizeof(krafla_scheduler_info) == 88);
CHECK(request_options_size, sizeof(krafla_request_options) == 16);
CHECK(request_info_size, sizeof(krafla_request_info) == 32);
CHECK(speculation_size, sizeof(krafla_speculation) == 32);
CHECK(generate_user, offsetof(krafla_generate_options, user) == 56);
CHECK(generate_size, sizeof(krafla_generate_options) == 104);
CHECK(generate_constraint, offsetof(krafla_generate_options, constraint) == 96);
CHECK(constraint_options_size, sizeof(krafla_constraint_options) == 32);
CHECK(calls_options_size, sizeof(krafla_calls_options) == 16);
CHECK(constraint_state_info_size, sizeof(krafla_constraint_state_info) == 16);
CHECK(result_size, sizeof(krafla_generate_result) == 48);
CHECK(residency_heat_map, offsetof(krafla_residency_options, heat_map) == 24);
CHECK(residency_options_size, sizeof(krafla_residency_options) == 56);
CHECK(residency_budget, offsetof(krafla_residency_info, budget) == 16);
CHECK(residency_hits, offsetof(krafla_residency_info, hits) == 72);
CHECK(residency_info_size, sizeof(krafla_residency_info) == 168);
#endif

/* Numbers are never reused. */
CHECK(KRAFLA_OK, KRAFLA_OK == 0);
CHECK(KRAFLA_PAUSED, KRAFLA_PAUSED == 1);
CHECK(KRAFLA_E_ARGUMENT, KRAFLA_E_ARGUMENT == -1);
CHECK(KRAFLA_E_MEMORY, KRAFLA_E_MEMORY == -2);
CHECK(KRAFLA_E_BUDGET, KRAFLA_E_BUDGET == -3);
CHECK(KRAFLA_E_IO, KRAFLA_E_IO == -4);
CHECK(KRAFLA_E_FILE, KRAFLA_E_FILE == -5);
CHECK(KRAFLA_E_UNSUPPORTED, KRAFLA_E_UNSUPPORTED == -6);
CHECK(KRAFLA_E_CPU, KRAFLA_E_CPU == -7);
CHECK(KRAFLA_E_CANCELLED, KRAFLA_E_CANCELLED == -8);
CHECK(KRAFLA_E_CALLBACK, KRAFLA_E_CALLBACK == -9);
CHECK(KRAFLA_E_CONTEXT, KRAFLA_E_CONTEXT == -10);
CHECK(KRAFLA_E_STATE, KRAFLA_E_STATE == -11);
CHECK(KRAFLA_E_NOT_FOUND, KRAFLA_E_NOT_FOUND == -12);
CHECK(KRAFLA_E_TEMPLATE, KRAFLA_E_TEMPLATE == -13);
CHECK(KRAFLA_E_BUFFER, KRAFLA_E_BUFFER == -14);
CHECK(KRAFLA_E_INTERNAL, KRAFLA_E_INTERNAL == -15);
CHECK(KRAFLA_LOG_ERROR, KRAFLA_LOG_ERROR == 1);
CHECK(KRAFLA_LOG_WARNING, KRAFLA_LOG_WARNING == 2);
CHECK(KRAFLA_LOG_INFO, KRAFLA_LOG_INFO == 3);
CHECK(KRAFLA_LOG_DEBUG, KRAFLA_LOG_DEBUG == 4);
CHECK(KRAFLA_LOAD_MAP, KRAFLA_LOAD_MAP == 0);
CHECK(KRAFLA_LOAD_READ, KRAFLA_LOAD_READ == 1);
CHECK(KRAFLA_ENCODE_SPECIAL, KRAFLA_ENCODE_SPECIAL == 1);
CHECK(KRAFLA_ENCODE_PARSE, KRAFLA_ENCODE_PARSE == 2);
CHECK(KRAFLA_DECODE_SKIP_SPECIAL, KRAFLA_DECODE_SKIP_SPECIAL == 1);
CHECK(KRAFLA_KV_F16, KRAFLA_KV_F16 == 0);
CHECK(KRAFLA_KV_F32, KRAFLA_KV_F32 == 1);
CHECK(KRAFLA_KV_Q8, KRAFLA_KV_Q8 == 2);
CHECK(KRAFLA_KV_K8V4, KRAFLA_KV_K8V4 == 3);
CHECK(KRAFLA_KV_K6V6, KRAFLA_KV_K6V6 == 4);
CHECK(KRAFLA_KV_K4V4, KRAFLA_KV_K4V4 == 5);
CHECK(KRAFLA_LOGITS_LAST, KRAFLA_LOGITS_LAST == 0);
CHECK(KRAFLA_LOGITS_ALL, KRAFLA_LOGITS_ALL == 1);
CHECK(KRAFLA_LOGITS_NONE, KRAFLA_LOGITS_NONE == 2);
CHECK(KRAFLA_POOL_MEAN, KRAFLA_POOL_MEAN == 0);
CHECK(KRAFLA_POOL_LAST, KRAFLA_POOL_LAST == 1);
CHECK(KRAFLA_POOL_FIRST, KRAFLA_POOL_FIRST == 2);
CHECK(KRAFLA_SAVE_CACHE, KRAFLA_SAVE_CACHE == 0);
CHECK(KRAFLA_SAVE_TOKENS, KRAFLA_SAVE_TOKENS == 1);
CHECK(KRAFLA_FINISH_END, KRAFLA_FINISH_END == 1);
CHECK(KRAFLA_FINISH_LENGTH, KRAFLA_FINISH_LENGTH == 2);
CHECK(KRAFLA_FINISH_CONTEXT, KRAFLA_FINISH_CONTEXT == 3);
CHECK(KRAFLA_FINISH_CALLBACK, KRAFLA_FINISH_CALLBACK == 4);
CHECK(KRAFLA_FINISH_STOP, KRAFLA_FINISH_STOP == 5);
CHECK(KRAFLA_FINISH_COMPLETE, KRAFLA_FINISH_COMPLETE == 6);
CHECK(KRAFLA_CONSTRAINT_CHOICES, KRAFLA_CONSTRAINT_CHOICES == 1);
CHECK(KRAFLA_CONSTRAINT_REGEX, KRAFLA_CONSTRAINT_REGEX == 2);
CHECK(KRAFLA_CONSTRAINT_GBNF, KRAFLA_CONSTRAINT_GBNF == 3);
CHECK(KRAFLA_CONSTRAINT_JSON_SCHEMA, KRAFLA_CONSTRAINT_JSON_SCHEMA == 4);
CHECK(KRAFLA_JSON_SPACE_FLEXIBLE, KRAFLA_JSON_SPACE_FLEXIBLE == 0);
CHECK(KRAFLA_JSON_SPACE_NONE, KRAFLA_JSON_SPACE_NONE == 1);
CHECK(KRAFLA_JSON_SPACE_PYTHON, KRAFLA_JSON_SPACE_PYTHON == 2);
CHECK(KRAFLA_CALLS_REQUIRED, KRAFLA_CALLS_REQUIRED == 0);
CHECK(KRAFLA_CALLS_AUTO, KRAFLA_CALLS_AUTO == 1);
CHECK(KRAFLA_EVENT_PROMPT, KRAFLA_EVENT_PROMPT == 1);
CHECK(KRAFLA_EVENT_TOKEN, KRAFLA_EVENT_TOKEN == 2);
CHECK(KRAFLA_EVENT_END, KRAFLA_EVENT_END == 3);
CHECK(KRAFLA_SPECULATE_NONE, KRAFLA_SPECULATE_NONE == 0);
CHECK(KRAFLA_SPECULATE_LOOKUP, KRAFLA_SPECULATE_LOOKUP == 1);
CHECK(KRAFLA_SPECULATE_MODEL, KRAFLA_SPECULATE_MODEL == 2);
CHECK(KRAFLA_READ_AUTO, KRAFLA_READ_AUTO == 0);
CHECK(KRAFLA_READ_URING, KRAFLA_READ_URING == 1);
CHECK(KRAFLA_READ_POOL, KRAFLA_READ_POOL == 2);
CHECK(KRAFLA_READ_PAGE_CACHE, KRAFLA_READ_PAGE_CACHE == 3);

int main(void) {
  krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
  krafla_model_options model_options = KRAFLA_MODEL_OPTIONS_INIT;
  krafla_session_options session_options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_append_options append_options = KRAFLA_APPEND_OPTIONS_INIT;
  krafla_sampler_options sampler_options = KRAFLA_SAMPLER_OPTIONS_INIT;
  krafla_generate_options generate_options = KRAFLA_GENERATE_OPTIONS_INIT;
  krafla_convert_options convert_options = KRAFLA_CONVERT_OPTIONS_INIT;
  krafla_runtime *runtime = NULL;
  if (runtime_options.struct_size != sizeof(runtime_options) || model_options.user != NULL ||
      session_options.batch != 0 || append_options.user != NULL || sampler_options.seed != 0 ||
      generate_options.user != NULL || convert_options.user != NULL) {
    return 1;
  }
  if (krafla_cpu_check() != KRAFLA_OK) return 3;
  if (krafla_runtime_create(&runtime, &runtime_options) != KRAFLA_OK) return 1;
  krafla_runtime_free(runtime);
  if (krafla_runtime_create(NULL, NULL) != KRAFLA_E_ARGUMENT) return 1;
  {
    const krafla_constraint_options constraint_options = KRAFLA_CONSTRAINT_OPTIONS_INIT;
    const krafla_calls_options calls_options = KRAFLA_CALLS_OPTIONS_INIT;
    krafla_constraint *constraint = NULL;
    if (krafla_constraint_compile(&constraint, NULL, KRAFLA_CONSTRAINT_REGEX, NULL, 0,
                                  &constraint_options) != KRAFLA_E_ARGUMENT) {
      return 1;
    }
    if (krafla_constraint_compile_calls(&constraint, NULL, NULL, 0, &calls_options, NULL) !=
        KRAFLA_E_ARGUMENT) {
      return 1;
    }
    krafla_constraint_free(constraint);
  }
  if (strlen(krafla_error_message()) == 0) return 1;
  printf("krafla %#x on %s\n", (unsigned)krafla_version(), krafla_isa());
  return 0;
}

/* The public headers are C99, and the structs keep the layout that ABI 1 promised. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "krafla/krafla.h"
#include "krafla/krafla_tools.h"

/* A negative array size is a compile error: C99's static assertion. */
#define CHECK(name, condition) typedef char check_##name[(condition) ? 1 : -1]

#if UINTPTR_MAX == UINT64_MAX
CHECK(runtime_threads, offsetof(krafla_runtime_options, threads) == 8);
CHECK(runtime_parallel, offsetof(krafla_runtime_options, parallel_for) == 16);
CHECK(runtime_budget, offsetof(krafla_runtime_options, budget) == 72);
CHECK(runtime_size, sizeof(krafla_runtime_options) == 88);
CHECK(runtime_info_size, sizeof(krafla_runtime_info) == 80);
CHECK(model_options, sizeof(krafla_model_options) == 32);
CHECK(model_info_vocab, offsetof(krafla_model_info, n_vocab) == 24);
CHECK(model_info_size, sizeof(krafla_model_info) == 96);
CHECK(reader_size, sizeof(krafla_reader) == 32);
CHECK(tensor_info_size, sizeof(krafla_tensor_info) == 64);
CHECK(piece_size, sizeof(krafla_piece) == 24);
CHECK(tokenizer_info_size, sizeof(krafla_tokenizer_info) == 24);
CHECK(session_options_size, sizeof(krafla_session_options) == 40);
CHECK(plan_size, sizeof(krafla_plan) == 56);
CHECK(session_info_size, sizeof(krafla_session_info) == 48);
CHECK(append_size, sizeof(krafla_append_options) == 48);
CHECK(sampler_options_size, sizeof(krafla_sampler_options) == 24);
CHECK(param_info_size, sizeof(krafla_param_info) == 56);
CHECK(append_user, offsetof(krafla_append_options, user) == 32);
CHECK(token_length, offsetof(krafla_token, text_length) == 32);
CHECK(token_size, sizeof(krafla_token) == 64);
CHECK(string_size, sizeof(krafla_string) == 16);
CHECK(embed_size, sizeof(krafla_embed_options) == 16);
CHECK(save_size, sizeof(krafla_save_options) == 16);
CHECK(restore_size, sizeof(krafla_restore_options) == 32);
CHECK(event_size, sizeof(krafla_event) == 72);
CHECK(generate_user, offsetof(krafla_generate_options, user) == 56);
CHECK(generate_size, sizeof(krafla_generate_options) == 88);
CHECK(result_size, sizeof(krafla_generate_result) == 32);
#endif

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
  if (strlen(krafla_error_message()) == 0) return 1;
  printf("krafla %#x on %s\n", (unsigned)krafla_version(), krafla_isa());
  return 0;
}

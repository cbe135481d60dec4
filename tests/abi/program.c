/* A program of the time of ABI 1: compiled against the header that is kept beside it, run with
 * today's library. Uses each object once. Usage: program MODEL */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "krafla/krafla.h"

static void must(int32_t code, const char *what) {
  if (code >= 0) return;
  printf("%s: %s: %s\n", what, krafla_error_name(code), krafla_error_message());
  exit(1);
}

static int count(void *user, const krafla_token *token) {
  if (token->struct_size < sizeof(*token)) exit(1);
  *(size_t *)user += token->text_length;
  return 0;
}

int main(int argc, char **argv) {
  static const char text[] = "In the beginning";
  krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
  krafla_session_options session_options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  krafla_generate_result result = KRAFLA_GENERATE_RESULT_INIT;
  krafla_save_options save = KRAFLA_SAVE_OPTIONS_INIT;
  krafla_event event = KRAFLA_EVENT_INIT;
  krafla_string stop = {"no such text", 12};
  krafla_session_info info;
  krafla_plan plan;
  krafla_runtime *runtime = NULL;
  krafla_model *model = NULL;
  krafla_tokenizer *tokenizer = NULL;
  krafla_session *session = NULL, *fork = NULL;
  krafla_sampler *sampler = NULL;
  int32_t ids[64];
  const float *logits = NULL;
  unsigned char *saved;
  size_t n = 0, n_logits = 0, size = 0, told = 0;
  if (argc != 2) return 2;
  must(krafla_cpu_check(), "cpu");
  runtime_options.threads = 1;
  session_options.context = 128;
  plan.struct_size = sizeof(plan);
  info.struct_size = sizeof(info);
  must(krafla_runtime_create(&runtime, &runtime_options), "runtime");
  must(krafla_model_open_path(&model, runtime, argv[1], strlen(argv[1]), NULL), "model");
  must(krafla_plan_session(&plan, model, &session_options), "plan");
  must(krafla_tokenizer_from_model(&tokenizer, model), "tokenizer");
  must(krafla_tokenizer_encode(tokenizer, text, strlen(text), 0, ids, 64, &n), "encode");
  must(krafla_session_create(&session, model, &session_options), "session");
  must(krafla_session_append(session, ids, n, NULL), "append");
  must(krafla_session_get_logits(session, &logits, &n_logits), "logits");
  must(krafla_sampler_create(&sampler, NULL), "sampler");
  must(krafla_session_fork(&fork, session), "fork");
  options.max_tokens = 5;
  options.ignore_end = 1;
  options.on_token = count;
  options.user = &told;
  options.stops = &stop;
  options.n_stops = 1;
  must(krafla_session_generate(session, sampler, &options, &result), "generate");
  must(krafla_session_get_info(session, &info), "info");
  if (result.n_tokens != 5 || info.length != (int64_t)n + 5 || plan.total == 0) return 1;
  save.content = KRAFLA_SAVE_TOKENS;
  if (krafla_session_save(session, NULL, 0, &size, &save) != KRAFLA_E_BUFFER) return 1;
  saved = malloc(size);
  must(krafla_session_save(session, saved, size, &size, &save), "save");
  must(krafla_session_restore(fork, saved, size, NULL), "restore");
  free(saved);
  must(krafla_session_truncate(fork, 3), "truncate");
  options.on_token = NULL;
  must(krafla_session_start(fork, ids, n, sampler, &options), "start");
  do {
    must(krafla_session_poll(fork, &event, -1), "poll");
  } while (event.kind != KRAFLA_EVENT_END);
  must(event.code, "the thread");
  krafla_session_free(fork);
  krafla_session_free(session);
  krafla_sampler_free(sampler);
  krafla_tokenizer_free(tokenizer);
  krafla_model_free(model);
  krafla_runtime_free(runtime);
  printf("ABI %d of %#x runs with %#x\n", KRAFLA_ABI,
         (KRAFLA_VERSION_MAJOR << 16) | (KRAFLA_VERSION_MINOR << 8) | KRAFLA_VERSION_PATCH,
         (unsigned)krafla_version());
  return 0;
}

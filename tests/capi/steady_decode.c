/* Decodes, and marks the steady part with two calls of getppid() for test_system_calls.py. Usage:
 * steady_decode MODEL */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "krafla/krafla.h"

static int mark(void *user, const krafla_token *token) {
  int *n = user;
  const struct timespec settle = {0, 200000000}; /* new threads have begun by then */
  (void)token;
  ++*n;
  if (*n == 20) nanosleep(&settle, NULL);
  if (*n == 20 || *n == 120) getppid();
  return 0;
}

int main(int argc, char **argv) {
  static const int32_t ids[] = {1, 40, 41, 300, 12, 77, 3, 260};
  krafla_runtime_options runtime_options = KRAFLA_RUNTIME_OPTIONS_INIT;
  krafla_session_options session_options = KRAFLA_SESSION_OPTIONS_INIT;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  krafla_runtime *runtime = NULL;
  krafla_model *model = NULL;
  krafla_session *session = NULL;
  krafla_sampler *sampler = NULL;
  int n = 0;
  if (argc != 2) return 2;
  runtime_options.threads = 2;
  session_options.context = 256;
  options.max_tokens = 130;
  options.ignore_end = 1;
  options.on_token = mark;
  options.user = &n;
  if (krafla_runtime_create(&runtime, &runtime_options) != KRAFLA_OK ||
      krafla_model_open_path(&model, runtime, argv[1], strlen(argv[1]), NULL) != KRAFLA_OK ||
      krafla_session_create(&session, model, &session_options) != KRAFLA_OK ||
      krafla_session_append(session, ids, 8, NULL) != KRAFLA_OK ||
      krafla_sampler_create(&sampler, NULL) != KRAFLA_OK ||
      krafla_session_generate(session, sampler, &options, NULL) != KRAFLA_OK) {
    printf("%s\n", krafla_error_message());
    return 1;
  }
  krafla_sampler_free(sampler);
  krafla_session_free(session);
  krafla_model_free(model);
  krafla_runtime_free(runtime);
  return n == 130 ? 0 : 1;
}

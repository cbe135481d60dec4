/* The smallest program: opens a model and continues a text. Usage: hello [MODEL.mlb] */
#include <krafla/krafla.h>
#include <stdio.h>
#include <string.h>

static int print(void *user, const krafla_token *token) {
  (void)user;
  fwrite(token->text, 1, token->text_length, stdout);
  return 0;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "models/smollm2-135m-instruct-q8.mlb";
  const char *text = "The capital of France is";
  krafla_model *model = NULL;
  krafla_tokenizer *tokenizer = NULL;
  krafla_session *session = NULL;
  krafla_sampler *sampler = NULL;
  krafla_generate_options options = KRAFLA_GENERATE_OPTIONS_INIT;
  int32_t ids[64];
  size_t n = 0;
  options.max_tokens = 16;
  options.on_token = print;
  if (krafla_model_open_path(&model, NULL, path, strlen(path), NULL) != KRAFLA_OK ||
      krafla_tokenizer_from_model(&tokenizer, model) != KRAFLA_OK ||
      krafla_tokenizer_encode(tokenizer, text, strlen(text), 0, ids, 64, &n) != KRAFLA_OK ||
      krafla_session_create(&session, model, NULL) != KRAFLA_OK ||
      krafla_session_append(session, ids, n, NULL) != KRAFLA_OK ||
      krafla_sampler_create(&sampler, NULL) != KRAFLA_OK ||
      krafla_session_generate(session, sampler, &options, NULL) != KRAFLA_OK) {
    fprintf(stderr, "%s\n", krafla_error_message());
  }
  krafla_sampler_free(sampler);
  krafla_session_free(session);
  krafla_tokenizer_free(tokenizer);
  krafla_model_free(model);
  return 0;
}

/* A program over the import library or the static library: answers with the most likely token after
 * a prompt of ids. Usage: link MODEL */
#include <stdio.h>
#include <string.h>

#include "krafla/krafla.h"

int main(int argc, char **argv) {
  krafla_model *model = NULL;
  krafla_session *session = NULL;
  const int32_t ids[] = {1, 2, 3};
  const float *logits = NULL;
  size_t n = 0, i, best = 0;
  if (argc < 2 ||
      krafla_model_open_path(&model, NULL, argv[1], strlen(argv[1]), NULL) != KRAFLA_OK ||
      krafla_session_create(&session, model, NULL) != KRAFLA_OK ||
      krafla_session_append(session, ids, 3, NULL) != KRAFLA_OK ||
      krafla_session_get_logits(session, &logits, &n) != KRAFLA_OK) {
    printf("failed: %s\n", krafla_error_message());
    return 1;
  }
  for (i = 1; i < n; ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  printf("%s %lu\n", krafla_isa(), (unsigned long)best);
  krafla_session_free(session);
  krafla_model_free(model);
  return 0;
}

/* Opens every libkrafla-<isa>.so of a folder as a program would that knows nothing of processors:
 * prints for each the code that a model's opening returns and the message. Run under an emulated
 * processor that lacks the set, nothing but an answer may come of it. Then lets the loader choose.
 * Usage: open_each FOLDER MODEL */
#include <stdio.h>
#include <string.h>

#include "krafla/krafla_loader.h"

typedef int32_t (*open_function)(krafla_model **, krafla_runtime *, const char *, size_t,
                                 const krafla_model_options *);
typedef const char *(*message_function)(void);

int main(int argc, char **argv) {
  size_t i;
  char message[512];
  krafla_functions table;
  if (argc != 3) return 2;
  for (i = 0; i < sizeof(krafla_load_order) / sizeof(krafla_load_order[0]); ++i) {
    char path[1024];
    void *library;
    open_function open_model = NULL;
    message_function why = NULL;
    krafla_model *model = NULL;
    int32_t code;
    snprintf(path, sizeof(path), "%s/" KRAFLA_LOADER_NAME, argv[1], krafla_load_order[i]);
    library = krafla_load_open(path);
    if (library == NULL) continue;
    krafla_load_find(library, "krafla_model_open_path", (void *)&open_model);
    krafla_load_find(library, "krafla_error_message", (void *)&why);
    code = open_model(&model, NULL, argv[2], strlen(argv[2]), NULL);
    printf("%s %d %s\n", krafla_load_order[i], (int)code, code == KRAFLA_OK ? "" : why());
  }
  if (krafla_load(&table, argv[1], message, sizeof(message)) != 0) {
    printf("chosen: none: %s\n", message);
    return 1;
  }
  printf("chosen: %s\n", table.isa());
  return 0;
}

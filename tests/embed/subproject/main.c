/* Calls into the library that the embedding build made: prints its version, and an error of it. */
#include <krafla/krafla.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  krafla_model *model = NULL;
  const char *path = "no such model";
  uint32_t version = krafla_version();
  printf("%u.%u.%u\n", (unsigned)(version >> 16), (unsigned)(version >> 8 & 255),
         (unsigned)(version & 255));
  if (krafla_model_open_path(&model, NULL, path, strlen(path), NULL) == KRAFLA_OK) {
    return 1;
  }
  printf("%s\n", krafla_error_message());
  return 0;
}

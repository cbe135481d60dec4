/* krafla_loader.h is C99, and a program needs no library when it is linked. */
#include <stdio.h>

#include "krafla/krafla_loader.h"

int main(int argc, char **argv) {
  krafla_functions krafla;
  char message[512];
  if (krafla_load(&krafla, argc > 1 ? argv[1] : NULL, message, sizeof(message)) != 0) {
    puts(message);
    return 1;
  }
  printf("krafla %#x on %s\n", (unsigned)krafla.version(), krafla.isa());
  krafla_unload(&krafla);
  return 0;
}

// Writes the tiny model for tests in other languages. Usage: convert_tiny FOLDER OUT.mlb
#include <cstdio>

#include "krafla/krafla_tools.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::remove(argv[2]);
  krafla_convert_options options = KRAFLA_CONVERT_OPTIONS_INIT;
  options.kind = KRAFLA_CONVERT_HF;
  options.input = argv[1];
  options.output = argv[2];
  if (krafla_convert(&options) == KRAFLA_OK) return 0;
  std::fprintf(stderr, "%s\n", krafla_error_message());
  return 1;
}

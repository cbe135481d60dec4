// The tokenizer's table of a .mlb or .mlt, used in place.
#include "tests/fuzz/tokenizer_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  krafla::UseTokenizer({reinterpret_cast<const char*>(data), size});
  return 0;
}

// A safetensors file: the header's JSON and the places of its tensors.
#include "lib/convert/safetensors.h"

#include "tests/fuzz/checkpoint_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  Checkpoint checkpoint;
  if (!AddSafetensors(OpenMemory(data, size), &checkpoint).ok()) return 0;
  if (checkpoint.Finish().ok()) ReadFirstRows(checkpoint);
  return 0;
}

// GGUF: header, tensors, configuration, tokenizer, and the plan of a conversion.
#include "lib/convert/gguf.h"

#include "lib/convert/import.h"
#include "lib/convert/plan.h"
#include "tests/fuzz/checkpoint_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace krafla;  // NOLINT: one function
  Checkpoint checkpoint;
  const auto file = GgufFile::Open(OpenMemory(data, size), &checkpoint);
  if (!file.ok() || !checkpoint.Finish().ok()) return 0;
  ReadFirstRows(checkpoint);
  (void)file->Strings("tokenizer.ggml.tokens");
  (void)file->Floats("tokenizer.ggml.scores");
  (void)file->Numbers("tokenizer.ggml.token_type");
  Import import;
  if (ImportGguf(OpenMemory(data, size), &import).ok()) {
    (void)PlanTensors(&import, Format::kQ8, {});
  }
  return 0;
}

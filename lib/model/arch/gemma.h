// What Gemma 2 and 3 have in common beside their blocks: the sizes that published configurations
// leave out, and the scales of embeddings and scores.
#ifndef KRAFLA_LIB_MODEL_ARCH_GEMMA_H_
#define KRAFLA_LIB_MODEL_ARCH_GEMMA_H_

#include <cstdint>

#include "lib/base/status.h"
#include "lib/file/key_values.h"
#include "lib/model/config.h"

namespace krafla {

// Before a config.json is read; vocabulary and positions are each family's own.
void SetGemmaDefaults(Config* config);
// After it: query_pre_attn_scalar, and embeddings times sqrt(n_embd).
Status ReadHfGemmaScales(const KeyValues& values, Config* config);
// The same of a GGUF, whose header does not tell query_pre_attn_scalar: only the 27B model's, which
// its number of layers tells, is not the head size.
void SetGgufGemmaScales(int64_t layers_of_27b, Config* config);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_GEMMA_H_

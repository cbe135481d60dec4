// What the Qwen families with gated delta nets have in common.
#ifndef KRAFLA_LIB_MODEL_ARCH_QWEN3_HYBRID_H_
#define KRAFLA_LIB_MODEL_ARCH_QWEN3_HYBRID_H_

#include "lib/model/arch/decoder.h"

namespace krafla {

// Defaults and keys of all parts but experts.
Status ReadHfHybrid(const KeyValues& values, const DecoderFamily& family, Config* config);
// Experts too, where the header has any.
Status ReadGgufHybrid(const KeyValues& values, const DecoderFamily& family, Config* config);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_QWEN3_HYBRID_H_

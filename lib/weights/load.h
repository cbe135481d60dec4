// Whether a model's weights are used where they lie in the file or copied into memory of the
// runtime.
#ifndef KRAFLA_LIB_WEIGHTS_LOAD_H_
#define KRAFLA_LIB_WEIGHTS_LOAD_H_

#include <cstdint>

#include "lib/runtime/memory.h"

namespace krafla {

enum class Load : uint8_t { kMap, kRead, kAuto };

// kAuto: reading pays where the system gives large pages (a mapped file mostly lies in small ones,
// from which every product with a weight is slower) and `bytes` are at most half of the memory that
// `memory` may still use.
bool IsMapped(Load load, uint64_t bytes, const Memory& memory);

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_LOAD_H_

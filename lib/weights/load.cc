// The choice is made once, from what the system says of itself: a timing would choose now this, now
// that on the same machine.
#include "lib/weights/load.h"

#include <algorithm>

#include "lib/runtime/topology.h"

namespace krafla {

bool IsMapped(Load load, uint64_t bytes, const Memory& memory) {
  if (load != Load::kAuto) return load == Load::kMap;
  if (!GivesLargePages("")) return true;
  const uint64_t left = std::min(AvailableMemory(""), memory.budget() - memory.used());
  return bytes > left / 2;
}

}  // namespace krafla

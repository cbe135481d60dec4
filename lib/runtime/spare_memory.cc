// How much of the memory that is left stays untouched; see topology.h.
#include <algorithm>

#include "lib/runtime/topology.h"

namespace krafla {

uint64_t SystemReserve(const MemoryRoom& room) {
  if (room.system_total == UINT64_MAX) return 0;
  return std::max(uint64_t{1} << 30, room.system_total / 10);
}

uint64_t SpareMemory(const std::string& root) {
  const MemoryRoom room = RoomOf(root);
  const auto without = [](uint64_t have, uint64_t reserve) {
    return have == UINT64_MAX ? have : have - std::min(have, reserve);
  };
  return std::min(without(room.system, SystemReserve(room)), without(room.group, kGroupReserve));
}

}  // namespace krafla

// What the machine and its container grant this process: CPUs it may run on, physical cores among
// them, a CPU quota (cgroup v1 or v2), and memory that is still to be had. Every function reads
// below `root` ("" is the real system), so that tests can lay out machines as folders.
// topology.cc is Linux; topology_windows.cc asks Windows and its job objects.
#ifndef KRAFLA_LIB_RUNTIME_TOPOLOGY_H_
#define KRAFLA_LIB_RUNTIME_TOPOLOGY_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace krafla {

// CPUs of the calling thread's affinity mask, ascending; never empty.
std::vector<int> AllowedCpus();

// Physical cores that have a CPU in `allowed`. Where cores differ much (big.LITTLE, hybrid), only
// the fast ones count: a slow core at the barrier holds up all.
int32_t CountCores(const std::string& root, std::span<const int> allowed);

// CPUs' worth of time that the tightest enclosing cgroup grants; nullopt: no limit found.
std::optional<double> CpuQuota(const std::string& root);

// CPUs that can run at once: the allowed ones, under the quota rounded up. At least 1.
int32_t UsableCpus(const std::string& root, std::span<const int> allowed);

// CountCores under UsableCpus, at least 1.
int32_t UsableCores(const std::string& root, std::span<const int> allowed);

// Memory and swap that the system and the enclosing cgroups can still give; UINT64_MAX where
// unknown.
uint64_t AvailableMemory(const std::string& root);

// The same apart: of the system without its swap, and of the tightest enclosing cgroup (its
// memory.high and memory.max; UINT64_MAX: none).
struct MemoryRoom {
  uint64_t system = UINT64_MAX;
  uint64_t system_total = UINT64_MAX;
  uint64_t group = UINT64_MAX;
};
MemoryRoom RoomOf(const std::string& root);
// What may be left of `room` untouched, so that neither the system nor the group runs out.
uint64_t SystemReserve(const MemoryRoom& room);
inline constexpr uint64_t kGroupReserve = uint64_t{64} << 20;
// Bytes that may be taken for good: the rooms without their reserves.
uint64_t SpareMemory(const std::string& root);

// Whether large buffers may get large pages (2 MiB on x86-64) when they ask for them.
bool GivesLargePages(const std::string& root);

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_TOPOLOGY_H_

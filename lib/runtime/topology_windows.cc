// See topology.h; `root` means nothing here. More than 64 logical processors come in groups; a
// process that asks for nothing runs in one of them (Windows 11: in all), so the count is of the
// cores that its affinity reaches. The quota and the memory limit are those of its job object (what
// a container is).
#include <windows.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lib/runtime/topology.h"

namespace krafla {
namespace {

constexpr int kGroupCpus = 64;

struct CpuGroup {
  WORD number;
  KAFFINITY mask;
};

// The groups that this process's threads run in, and which of their processors.
std::vector<CpuGroup> AllowedGroups() {
  USHORT numbers[64];
  USHORT n = sizeof(numbers) / sizeof(numbers[0]);
  DWORD_PTR process = 0;
  DWORD_PTR system = 0;
  const bool grouped = GetProcessGroupAffinity(GetCurrentProcess(), &n, numbers) != 0;
  if (!grouped) {
    n = 1;
    numbers[0] = 0;
  }
  // The mask is of a process in one group; with more, all of each are allowed.
  const bool masked = n == 1 && GetProcessAffinityMask(GetCurrentProcess(), &process, &system) != 0;
  if (masked && process != 0) return {{numbers[0], process}};
  std::vector<CpuGroup> groups;
  for (USHORT i = 0; i < n; ++i) {
    const DWORD cpus = std::min<DWORD>(GetActiveProcessorCount(numbers[i]), kGroupCpus);
    if (cpus != 0) groups.push_back({numbers[i], ~KAFFINITY{0} >> (kGroupCpus - cpus)});
  }
  return groups;
}

bool Contains(std::span<const int> allowed, const GROUP_AFFINITY& cpus) {
  return std::any_of(allowed.begin(), allowed.end(), [&](int cpu) {
    return cpu / kGroupCpus == cpus.Group && (cpus.Mask >> (cpu % kGroupCpus) & 1) != 0;
  });
}

}  // namespace

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  for (const CpuGroup& group : AllowedGroups()) {
    for (int i = 0; i < kGroupCpus; ++i) {
      if ((group.mask >> i & 1) != 0) cpus.push_back(group.number * kGroupCpus + i);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int32_t CountCores(const std::string&, std::span<const int> allowed) {
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::vector<uint64_t> buffer(bytes / sizeof(uint64_t) + 1);
  char* const records = reinterpret_cast<char*>(buffer.data());
  const auto at = [&](DWORD offset) {
    return reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(records + offset);
  };
  if (GetLogicalProcessorInformationEx(RelationProcessorCore, at(0), &bytes) == 0) {
    return static_cast<int32_t>(allowed.size());
  }
  // The class of efficiency is 0 for all where there is one kind of core, and larger for faster
  // ones.
  int32_t n = 0;
  BYTE best = 0;
  for (DWORD offset = 0; offset < bytes; offset += at(offset)->Size) {
    const PROCESSOR_RELATIONSHIP& core = at(offset)->Processor;
    const BYTE efficiency =
        reinterpret_cast<const BYTE*>(&core)[1];  // which older headers call reserved
    if (!Contains(allowed, core.GroupMask[0]) || efficiency < best) continue;
    n = efficiency > best ? 1 : n + 1;
    best = efficiency;
  }
  return std::max(n, 1);
}

std::optional<double> CpuQuota(const std::string&) {
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION info{};
  if (QueryInformationJobObject(nullptr, JobObjectCpuRateControlInformation, &info, sizeof(info),
                                nullptr) == 0) {
    return std::nullopt;
  }
  constexpr DWORD kHard = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  if ((info.ControlFlags & kHard) != kHard || info.CpuRate == 0) return std::nullopt;
  // In hundredths of a percent of all processors.
  return info.CpuRate / 10000.0 * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

int32_t UsableCpus(const std::string& root, std::span<const int> allowed) {
  const double cpus = static_cast<double>(std::max<size_t>(allowed.size(), 1));
  const std::optional<double> quota = CpuQuota(root);
  return static_cast<int32_t>(quota ? std::min(cpus, std::ceil(*quota)) : cpus);
}

int32_t UsableCores(const std::string& root, std::span<const int> allowed) {
  return std::max(1, std::min(CountCores(root, allowed), UsableCpus(root, allowed)));
}

uint64_t AvailableMemory(const std::string&) {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  if (GlobalMemoryStatusEx(&status) == 0) return UINT64_MAX;
  uint64_t available = status.ullAvailPageFile;  // memory and page file, not what is in use
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (QueryInformationJobObject(nullptr, JobObjectExtendedLimitInformation, &job, sizeof(job),
                                nullptr) != 0 &&
      (job.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) != 0) {
    available = std::min<uint64_t>(available, job.ProcessMemoryLimit);
  }
  return available;
}

MemoryRoom RoomOf(const std::string&) {
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  MemoryRoom room;
  if (GlobalMemoryStatusEx(&status) == 0) return room;
  room.system = status.ullAvailPhys;
  room.system_total = status.ullTotalPhys;
  return room;
}

bool GivesLargePages(const std::string&) { return false; }  // see pages_windows.cc

}  // namespace krafla

// Linux answers from sysfs, procfs and cgroupfs. A file that is absent or odd counts as no
// information: nothing here can fail. Controllers are looked for at their usual mount points, in
// the process's own group and every group above it (inside a container the upper ones are often not
// visible).
#include "lib/runtime/topology.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace krafla {
namespace {

// A core below this part of the best one's speed would hold up the barrier more than it helps.
// Favoured cores of one kind differ by less than a tenth in frequency; efficiency cores run at 0.55
// to 0.75. Capacity compares work at top speed, where a middle core of a phone has 0.7 and more.
constexpr double kMinRelativeFrequency = 0.8;
constexpr double kMinRelativeCapacity = 0.6;

std::optional<std::string> ReadText(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string text(size_t{16} << 10, '\0');  // all of these files are shorter
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = read(fd, text.data() + size, text.size() - size);
    if (n <= 0) break;
    size += static_cast<size_t>(n);
  }
  close(fd);
  text.resize(size);
  return text;
}

std::optional<uint64_t> ParseNumber(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc()) {
    return std::nullopt;  // "max", "-1"
  }
  return value;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const std::optional<std::string> text = ReadText(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

// The number behind `key` at the start of a line ("MemAvailable:   1234 kB").
std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key) {
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content = text.substr(line, end - line);
    if (content.starts_with(key)) return ParseNumber(content.substr(key.size()));
    line = end + 1;
  }
  return std::nullopt;
}

bool HasItem(std::string_view list, std::string_view item) {
  while (list.size() > item.size()) {
    if (list.starts_with(item) && list[item.size()] == ',') return true;
    list.remove_prefix(std::min(list.find(','), list.size() - 1) + 1);
  }
  return list == item;
}

// Folders that hold `controller`'s files for this process, the process's own group first.
// A line of /proc/self/cgroup is "id:controller,controller:/path"; version 2 has an empty list.
std::vector<std::string> GroupFolders(const std::string& root, std::string_view controller) {
  std::vector<std::string> folders;
  const std::string text = ReadText(root + "/proc/self/cgroup").value_or("0::/");
  for (size_t line = 0; line < text.size();) {
    const size_t end = std::min(text.find('\n', line), text.size());
    const std::string_view content = std::string_view(text).substr(line, end - line);
    line = end + 1;
    const size_t first = content.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = content.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view list = content.substr(first + 1, second - first - 1);
    if (!list.empty() && !HasItem(list, controller)) continue;
    std::vector<std::string> mounts;
    if (list.empty()) {
      mounts = {root + "/sys/fs/cgroup", root + "/sys/fs/cgroup/unified"};
    } else {
      mounts = {root + "/sys/fs/cgroup/" + std::string(list)};
      if (list != controller) mounts.push_back(root + "/sys/fs/cgroup/" + std::string(controller));
    }
    for (const std::string& mount : mounts) {
      std::string path(content.substr(second + 1));
      while (path.size() > 1) {
        folders.push_back(mount + path);
        path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
      }
      folders.push_back(mount);
    }
  }
  return folders;
}

struct Core {
  std::string siblings;  // the list names the core
  double capacity = 0;
  double frequency = 0;  // 0: unknown
};

}  // namespace

std::vector<int> AllowedCpus() {
  std::vector<int> cpus;
  // The kernel refuses a mask smaller than its own; machines with more than 1024 CPUs need a larger
  // one.
  for (int n = 1024; n <= 1 << 16; n *= 2) {
    cpu_set_t* set = CPU_ALLOC(n);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(n);
    CPU_ZERO_S(bytes, set);
    const bool done = sched_getaffinity(0, bytes, set) == 0;
    try {
      for (int cpu = 0; done && cpu < n; ++cpu) {
        if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
      }
    } catch (...) {
      CPU_FREE(set);
      throw;
    }
    CPU_FREE(set);
    if (done) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

int32_t CountCores(const std::string& root, std::span<const int> allowed) {
  std::vector<Core> cores;
  double best_capacity = 0;
  double best_frequency = 0;
  for (int cpu : allowed) {
    const std::string folder = root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
    Core core;
    core.siblings =
        ReadText(folder + "/topology/thread_siblings_list").value_or("cpu" + std::to_string(cpu));
    if (std::any_of(cores.begin(), cores.end(),
                    [&](const Core& other) { return other.siblings == core.siblings; })) {
      continue;
    }
    core.capacity = static_cast<double>(ReadNumber(folder + "/cpu_capacity").value_or(0));
    core.frequency =
        static_cast<double>(ReadNumber(folder + "/cpufreq/cpuinfo_max_freq").value_or(0));
    best_capacity = std::max(best_capacity, core.capacity);
    best_frequency = std::max(best_frequency, core.frequency);
    cores.push_back(std::move(core));
  }
  const auto fast = [&](const Core& core) {
    const bool slow =
        (core.capacity > 0 && core.capacity < kMinRelativeCapacity * best_capacity) ||
        (core.frequency > 0 && core.frequency < kMinRelativeFrequency * best_frequency);
    return !slow;
  };
  // Capacity and frequency can point at different cores only on machines that lie: then all count.
  const auto n = std::count_if(cores.begin(), cores.end(), fast);
  return static_cast<int32_t>(n > 0 ? static_cast<size_t>(n) : std::max<size_t>(cores.size(), 1));
}

std::optional<double> CpuQuota(const std::string& root) {
  std::optional<double> quota;
  const auto limit = [&](std::optional<uint64_t> time, std::optional<uint64_t> period) {
    if (!time || !period || *time == 0 || *period == 0) return;
    const double cpus = static_cast<double>(*time) / static_cast<double>(*period);
    quota = quota ? std::min(*quota, cpus) : cpus;
  };
  for (const std::string& folder : GroupFolders(root, "cpu")) {
    if (const std::optional<std::string> max = ReadText(folder + "/cpu.max")) {  // "150000 100000"
      const size_t space = max->find(' ');
      if (space != std::string::npos) {
        limit(ParseNumber(*max), ParseNumber(std::string_view(*max).substr(space)));
      }
    }
    limit(ReadNumber(folder + "/cpu.cfs_quota_us"), ReadNumber(folder + "/cpu.cfs_period_us"));
  }
  return quota;
}

int32_t UsableCpus(const std::string& root, std::span<const int> allowed) {
  const double cpus = static_cast<double>(std::max<size_t>(allowed.size(), 1));
  const std::optional<double> quota = CpuQuota(root);
  return static_cast<int32_t>(quota ? std::min(cpus, std::ceil(*quota)) : cpus);
}

int32_t UsableCores(const std::string& root, std::span<const int> allowed) {
  return std::max(1, std::min(CountCores(root, allowed), UsableCpus(root, allowed)));
}

MemoryRoom RoomOf(const std::string& root) {
  MemoryRoom room;
  if (const std::optional<std::string> info = ReadText(root + "/proc/meminfo")) {
    if (const auto kib = NumberAfter(*info, "MemAvailable:")) room.system = *kib * 1024;
    if (const auto kib = NumberAfter(*info, "MemTotal:")) room.system_total = *kib * 1024;
  }
  // Cached file pages count as used in a group, but are given up on demand.
  const auto limit = [&](std::optional<uint64_t> most, std::optional<uint64_t> used,
                         const std::string& stat, std::string_view cached_key) {
    if (!most || !used) return;
    const std::optional<std::string> text = ReadText(stat);
    const uint64_t cached = text ? NumberAfter(*text, cached_key).value_or(0) : 0;
    const uint64_t held = *used - std::min(*used, cached);
    room.group = std::min(room.group, *most - std::min(*most, held));
  };
  for (const std::string& folder : GroupFolders(root, "memory")) {
    const std::optional<uint64_t> current = ReadNumber(folder + "/memory.current");
    for (const char* most : {"/memory.max", "/memory.high"}) {
      limit(ReadNumber(folder + most), current, folder + "/memory.stat", "inactive_file ");
    }
    limit(ReadNumber(folder + "/memory.limit_in_bytes"),
          ReadNumber(folder + "/memory.usage_in_bytes"), folder + "/memory.stat",
          "total_inactive_file ");
  }
  return room;
}

uint64_t AvailableMemory(const std::string& root) {
  const MemoryRoom room = RoomOf(root);
  uint64_t available = room.system;
  if (const std::optional<std::string> info = ReadText(root + "/proc/meminfo")) {
    if (available != UINT64_MAX) available += NumberAfter(*info, "SwapFree:").value_or(0) * 1024;
  }
  return std::min(available, room.group);
}

bool GivesLargePages(const std::string& root) {
  // "always [madvise] never", the choice in brackets.
  const std::optional<std::string> text =
      ReadText(root + "/sys/kernel/mm/transparent_hugepage/enabled");
  return text && text->find("[never]") == std::string::npos;
}

}  // namespace krafla

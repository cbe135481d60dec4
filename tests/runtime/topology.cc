// Machines laid out as folders: SMT, hybrid, big.LITTLE, both cgroup versions, and files that are
// missing or odd.
#include "lib/runtime/topology.h"

#include <numeric>

#include "lib/runtime/thread_pool.h"
#include "tests/runtime/machine.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::vector<int> Cpus(int n) {
  std::vector<int> cpus(static_cast<size_t>(n));
  std::iota(cpus.begin(), cpus.end(), 0);
  return cpus;
}

TEST_CASE("one thread a physical core") {
  Machine machine;
  for (int cpu = 0; cpu < 16; ++cpu) {
    machine.Cpu(cpu, "topology/thread_siblings_list",
                std::to_string(cpu % 8) + "," + std::to_string(cpu % 8 + 8));
    machine.Cpu(cpu, "cpufreq/cpuinfo_max_freq", cpu % 8 == 3 ? "5300000" : "5000000");
  }
  REQUIRE(CountCores(machine.root(), Cpus(16)) == 8);
  REQUIRE(CountCores(machine.root(), std::vector<int>{1, 9}) == 1);
  REQUIRE(CountCores(machine.root(), std::vector<int>{1, 2, 10}) == 2);
}

TEST_CASE("twenty cores without SMT") {
  Machine machine;
  for (int cpu = 0; cpu < 20; ++cpu) {
    machine.Cpu(cpu, "topology/thread_siblings_list", std::to_string(cpu));
  }
  REQUIRE(UsableCores(machine.root(), Cpus(20)) == 20);
}

TEST_CASE("slow cores do not count") {
  Machine hybrid;  // 4 cores of 2 threads, 8 efficiency cores
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int first = cpu / 2 * 2;
    hybrid.Cpu(
        cpu, "topology/thread_siblings_list",
        cpu < 8 ? std::to_string(first) + "-" + std::to_string(first + 1) : std::to_string(cpu));
    hybrid.Cpu(cpu, "cpufreq/cpuinfo_max_freq", cpu < 8 ? "5200000" : "3900000");
  }
  REQUIRE(CountCores(hybrid.root(), Cpus(16)) == 4);
  REQUIRE(CountCores(hybrid.root(), std::vector<int>{8, 9, 10}) == 3);

  Machine phone;
  for (int cpu = 0; cpu < 8; ++cpu) {
    phone.Cpu(cpu, "cpu_capacity", cpu < 4 ? "325" : cpu < 7 ? "871" : "1024");
  }
  REQUIRE(CountCores(phone.root(), Cpus(8)) == 4);
}

TEST_CASE("quota of cgroup 2, the tightest of the enclosing groups, rounded up") {
  Machine machine;
  machine.Write("/proc/self/cgroup", "0::/system.slice/app");
  REQUIRE_FALSE(CpuQuota(machine.root()));
  machine.Write("/sys/fs/cgroup/system.slice/app/cpu.max", "max 100000");
  REQUIRE_FALSE(CpuQuota(machine.root()));
  machine.Write("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000");
  REQUIRE(CpuQuota(machine.root()) == 1.5);
  REQUIRE(UsableCpus(machine.root(), Cpus(16)) == 2);
  REQUIRE(UsableCores(machine.root(), Cpus(16)) == 2);
  machine.Write("/sys/fs/cgroup/system.slice/app/cpu.max", "5000 100000");
  REQUIRE(UsableCores(machine.root(), Cpus(16)) == 1);
}

TEST_CASE("a container sees its own group as the mount's root") {
  Machine machine;
  machine.Write("/proc/self/cgroup", "0::/docker/0123");
  machine.Write("/sys/fs/cgroup/cpu.max", "300000 100000");
  REQUIRE(CpuQuota(machine.root()) == 3);
}

TEST_CASE("quota of cgroup 1") {
  for (const char* mount : {"/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu"}) {
    Machine machine;
    machine.Write("/proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/box\n0::/");
    machine.Write(std::string(mount) + "/cpu.cfs_quota_us", "-1");
    machine.Write(std::string(mount) + "/cpu.cfs_period_us", "100000");
    REQUIRE_FALSE(CpuQuota(machine.root()));
    machine.Write(std::string(mount) + "/box/cpu.cfs_quota_us", "250000");
    machine.Write(std::string(mount) + "/box/cpu.cfs_period_us", "100000");
    REQUIRE(CpuQuota(machine.root()) == 2.5);
  }
}

TEST_CASE("odd files are no information") {
  Machine machine;
  for (const char* text :
       {"", "x", "0 0", "100000", "100000 0", "99999999999999999999999 1", ":::"}) {
    machine.Write("/proc/self/cgroup", text);
    machine.Write("/sys/fs/cgroup/cpu.max", text);
    machine.Write("/proc/meminfo", text);
    machine.Write("/sys/fs/cgroup/memory.max", text);
    machine.Cpu(0, "cpu_capacity", text);
    REQUIRE(UsableCores(machine.root(), Cpus(4)) == 4);
    REQUIRE(AvailableMemory(machine.root()) >= 100000);
  }
  REQUIRE(CountCores("/nowhere", {}) == 1);
  REQUIRE(UsableCores("/nowhere", {}) == 1);
  REQUIRE(AvailableMemory("/nowhere") == UINT64_MAX);
}

TEST_CASE("memory that the system and the group have left") {
  Machine machine;
  machine.Write("/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:  500 kB\nSwapFree: 20 kB");
  REQUIRE(AvailableMemory(machine.root()) == 520 * 1024);
  machine.Write("/proc/self/cgroup", "0::/a");
  machine.Write("/sys/fs/cgroup/a/memory.max", "max");
  machine.Write("/sys/fs/cgroup/a/memory.current", "90000");
  REQUIRE(AvailableMemory(machine.root()) == 520 * 1024);
  machine.Write("/sys/fs/cgroup/a/memory.max", "100000");
  REQUIRE(AvailableMemory(machine.root()) == 10000);
  machine.Write("/sys/fs/cgroup/a/memory.stat", "anon 3\ninactive_file 50000");
  REQUIRE(AvailableMemory(machine.root()) == 60000);
  machine.Write("/proc/self/cgroup", "7:memory:/b");
  machine.Write("/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "50000");
  machine.Write("/sys/fs/cgroup/memory/b/memory.usage_in_bytes", "60000");
  REQUIRE(AvailableMemory(machine.root()) == 0);
}

TEST_CASE("large pages are given where the system does not forbid them") {
  Machine machine;
  REQUIRE(!GivesLargePages(machine.root()));
  const std::string file = "/sys/kernel/mm/transparent_hugepage/enabled";
  machine.Write(file, "always [madvise] never");
  REQUIRE(GivesLargePages(machine.root()));
  machine.Write(file, "[always] madvise never");
  REQUIRE(GivesLargePages(machine.root()));
  machine.Write(file, "always madvise [never]");
  REQUIRE(!GivesLargePages(machine.root()));
}

}  // namespace
}  // namespace krafla

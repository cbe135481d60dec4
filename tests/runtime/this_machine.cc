// The machine that the tests run on, whatever it is.
#include "lib/runtime/thread_pool.h"
#include "lib/runtime/topology.h"
#include "tests/runtime/one_cpu.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

TEST_CASE("this machine") {
  const std::vector<int> cpus = AllowedCpus();
  REQUIRE(!cpus.empty());
  REQUIRE(DefaultThreads() >= 1);
  REQUIRE(DefaultThreads() <= static_cast<int32_t>(cpus.size()));
  REQUIRE(AvailableMemory("") > 0);

  int32_t threads = 0;
  std::vector<int> allowed;
  {
    const OneCpu one(cpus.back());
    threads = DefaultThreads();
    allowed = AllowedCpus();
  }
  REQUIRE(threads == 1);
  REQUIRE(allowed == std::vector<int>{cpus.back()});
}

}  // namespace
}  // namespace krafla

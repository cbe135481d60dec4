// The launcher's choice on machines that are not here: a processor with everything under a system
// that saves little, builds that are missing, a name from KRAFLA_ISA.
#include <set>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tools/launch/builds.h"

namespace krafla::launch {
namespace {

using Files = std::set<std::string>;

bool Contains(const char* isa, const void* files) {
  return static_cast<const Files*>(files)->count(isa) > 0;
}

// The name that is chosen, or "none".
std::string Choose(const Machine& machine, const Files& files) {
  Build builds[kMaxBuilds];
  const size_t n = ListBuilds(machine, Contains, &files, builds);
  REQUIRE(n == kMaxBuilds);
  const size_t chosen = NextBuild(builds, n, 0);
  return chosen == n ? "none" : builds[chosen].needs->isa;
}

Files AllFiles() {
  Files files;
  for (const Needs& needs : kNeeds) files.insert(needs.isa);
  return files;
}

// A machine with every feature that any build asks for.
Machine Everything() {
  Machine machine;
  for (const Needs& needs : kNeeds) {
    for (size_t i = 0; i < needs.n; ++i) {
#if defined(__x86_64__) || defined(__i386__)
      machine.*needs.features[i].leaf |= 1u << needs.features[i].bit;
#else
      machine.*needs.features[i].word |= uint64_t{1} << needs.features[i].bit;
#endif
    }
  }
#if defined(__x86_64__) || defined(__i386__)
  machine.xcr0 = 0xe7;
#endif
  return machine;
}

TEST_CASE("the launcher knows every build of its family, in the loader's order") {
  const Machine machine = Everything();
  Files files = AllFiles();
  std::vector<std::string> order;
  while (!files.empty()) {
    order.push_back(Choose(machine, files));
    REQUIRE(files.erase(order.back()) == 1);
  }
  REQUIRE(order.back() == "scalar");
  REQUIRE(Choose(machine, {}) == "none");
  REQUIRE(Choose(Machine(), AllFiles()) == "scalar");
  Files without_scalar = AllFiles();
  without_scalar.erase("scalar");
  REQUIRE(Choose(Machine(), without_scalar) == "none");
}

TEST_CASE("a build is found by its name only where its file is") {
  Build builds[kMaxBuilds];
  const Files files = {"scalar"};
  const size_t n = ListBuilds(Everything(), Contains, &files, builds);
  REQUIRE(FindBuild(builds, n, "scalar") < n);
  REQUIRE(FindBuild(builds, n, "z80") == n);
  REQUIRE(FindBuild(builds, n, kNeeds[0].isa) == n);
}

#if defined(__x86_64__) || defined(__i386__)
TEST_CASE("registers that the system does not save take a build away") {
  Machine machine = Everything();
  REQUIRE(Choose(machine, AllFiles()) == "avx512vnni");
  for (const uint64_t saved : {0x7, 0x27, 0x67, 0xa7, 0xc7}) {  // not all of AVX-512's
    machine.xcr0 = saved;
    REQUIRE(Choose(machine, AllFiles()) == "avxvnni");
  }
  for (const uint64_t saved : {0x0, 0x1, 0x3, 0x5}) {  // not the upper halves of AVX
    machine.xcr0 = saved;
    REQUIRE(Choose(machine, AllFiles()) == "sse41");
  }
  machine = Everything();
  machine.leaf7_1_eax = 0;
  machine.xcr0 = 0x7;
  REQUIRE(Choose(machine, AllFiles()) == "avx2");
}
#endif

}  // namespace
}  // namespace krafla::launch

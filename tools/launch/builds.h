// Which builds of a program this machine runs, and which of them to take: pure functions over what
// the processor and its system are said to have, so that a test can present any machine. The order
// is that of krafla_loader.h; what each build needs is what the build itself asks for
// (kernels/<isa>/cpu.h).
#ifndef KRAFLA_TOOLS_LAUNCH_BUILDS_H_
#define KRAFLA_TOOLS_LAUNCH_BUILDS_H_

#include <krafla/krafla_loader.h>
#include <stddef.h>
#include <string.h>

#include "kernels/isas.h"

namespace krafla::launch {
namespace {

#if defined(__x86_64__) || defined(__i386__)
using Machine = X86State;
using Feature = X86Feature;
inline Machine ReadMachine() { return read_x86_state(); }
#else
using Machine = ArmState;
using Feature = ArmFeature;
inline Machine ReadMachine() { return read_arm_state(); }
#endif

struct Needs {
  const char* isa;
  const Feature* features;
  size_t n;
};

template <size_t N>
constexpr Needs NeedsOf(const char* isa, const Feature (&features)[N]) {
  return {isa, features, N};
}

// The builds of this family of processors.
constexpr Needs kNeeds[] = {
#define KRAFLA_NEEDS_OF(isa, folder) NeedsOf(#isa, folder::kFeatures),
    KRAFLA_ISAS(KRAFLA_NEEDS_OF)
#undef KRAFLA_NEEDS_OF
        {"scalar", nullptr, 0},
};

struct Build {
  const Needs* needs;
  const char* missing;  // null: this machine runs it
  bool there;           // its file is
};

constexpr size_t kMaxBuilds = sizeof(kNeeds) / sizeof(kNeeds[0]);

// All builds of this family from the fastest on; `there(isa, context)` tells which files there are.
inline size_t ListBuilds(const Machine& machine, bool (*there)(const char*, const void*),
                         const void* context, Build* builds) {
  size_t n = 0;
  for (const char* isa : krafla_load_order) {
    for (const Needs& needs : kNeeds) {
      if (strcmp(needs.isa, isa) != 0) continue;
      builds[n++] = {&needs, first_missing(machine, needs.features, needs.n), there(isa, context)};
    }
  }
  return n;
}

// The first build from `start` on that is there and runs; n where there is none.
inline size_t NextBuild(const Build* builds, size_t n, size_t start) {
  while (start < n && !(builds[start].there && builds[start].missing == nullptr)) ++start;
  return start;
}

// The build of that name if its file is there, or n.
inline size_t FindBuild(const Build* builds, size_t n, const char* isa) {
  for (size_t i = 0; i < n; ++i) {
    if (builds[i].there && strcmp(builds[i].needs->isa, isa) == 0) return i;
  }
  return n;
}

}  // namespace
}  // namespace krafla::launch

#endif  // KRAFLA_TOOLS_LAUNCH_BUILDS_H_

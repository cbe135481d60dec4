// The launcher of a release: becomes the fastest build of the program whose name it bears that this
// machine runs (docs/platforms.md). bin/ml_run takes libexec/krafla/ml_run-<isa>, or ml_run-<isa>
// beside it. KRAFLA_ISA names one; --isa-info as the only argument tells what was found and why.
// Nothing of the standard library that allocates or throws, so that it starts at once and is small.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <initializer_list>

#include "tools/launch/builds.h"
#include "tools/launch/system.h"

namespace krafla::launch {
namespace {

// As docs/user-guide.md gives them for all programs.
constexpr int kExitOther = 1, kExitArguments = 2, kExitCpu = 3;

constexpr size_t kPathBytes = 8192;

struct Place {
  char folder[kPathBytes];  // of this program
  char name[256];           // without the system's suffix
};

bool FindPlace(Place* place) {
  if (!OwnPath(place->folder, sizeof(place->folder))) return false;
  char* slash = strrchr(place->folder, '/');
  char* backslash = strrchr(place->folder, '\\');
  if (slash == nullptr || (backslash != nullptr && backslash > slash)) slash = backslash;
  if (slash == nullptr || strlen(slash + 1) >= sizeof(place->name)) return false;
  strcpy(place->name, slash + 1);  // NOLINT: it was measured
  *slash = 0;
  const size_t length = strlen(place->name);
  const size_t suffix = strlen(kProgramSuffix);
  if (length > suffix && strcmp(place->name + length - suffix, kProgramSuffix) == 0) {
    place->name[length - suffix] = 0;
  }
  return true;
}

// The file of a build, or false where there is none.
bool FindFile(const Place& place, const char* isa, char* path) {
  for (const char* way : {"/../libexec/krafla", ""}) {
    const int length = snprintf(path, kPathBytes, "%s%s/%s-%s%s", place.folder, way, place.name,
                                isa, kProgramSuffix);
    if (length > 0 && static_cast<size_t>(length) < kPathBytes && IsProgram(path)) return true;
  }
  return false;
}

bool IsThere(const char* isa, const void* place) {
  char path[kPathBytes];
  return FindFile(*static_cast<const Place*>(place), isa, path);
}

void PrintNames(FILE* out, const Build* builds, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (builds[i].there) fprintf(out, " %s", builds[i].needs->isa);
  }
}

// Which of the features that any build asks for this machine has.
void PrintFeatures(const Machine& machine) {
  const Feature* told[64];
  size_t n = 0;
  printf("This processor has:");
  for (size_t i = kMaxBuilds; i-- > 0;) {
    for (size_t k = 0; k < kNeeds[i].n; ++k) {
      const Feature& feature = kNeeds[i].features[k];
      bool known = false;
      for (size_t t = 0; t < n; ++t) known = known || strcmp(told[t]->name, feature.name) == 0;
      if (known || n == 64) continue;
      told[n++] = &feature;
      if (!processor_has(machine, feature)) continue;
      printf(" %s%s", feature.name, system_saves(machine, feature) ? "" : " (off in the system)");
    }
  }
  printf("\n");
}

int Explain(const Place& place, const Machine& machine, const Build* builds, size_t n,
            size_t chosen, const char* wanted) {
  PrintFeatures(machine);
  printf("Builds of %s, the fastest first:\n", place.name);
  for (size_t i = 0; i < n; ++i) {
    char path[kPathBytes];
    printf("  %-13s", builds[i].needs->isa);
    if (builds[i].missing != nullptr) {
      printf("needs %s%s\n", builds[i].missing, builds[i].there ? "" : "; not here");
    } else if (!FindFile(place, builds[i].needs->isa, path)) {
      printf("would run; not here\n");
    } else {
      printf("%s%s\n", i == chosen ? "chosen: " : "runs: ", path);
    }
  }
  if (wanted != nullptr) {
    printf("KRAFLA_ISA is %s\n", wanted);
  } else {
    printf("KRAFLA_ISA is not set: the fastest that runs is chosen\n");
  }
  return fflush(stdout) == 0 ? 0 : kExitOther;
}

// The reason why nothing is chosen, on stderr, and the exit code.
int Refuse(const Place& place, const Build* builds, size_t n, const char* wanted) {
  if (wanted != nullptr) {
    const size_t found = FindBuild(builds, n, wanted);
    if (found == n) {
      fprintf(stderr, "%s: KRAFLA_ISA: got \"%.64s\", want one of:", place.name, wanted);
      PrintNames(stderr, builds, n);
      fprintf(stderr, "\n");
      return kExitArguments;
    }
    fprintf(stderr, "%s: KRAFLA_ISA: the %s build needs %s, which this processor or system lacks\n",
            place.name, wanted, builds[found].missing);
    return kExitCpu;
  }
  for (size_t i = n; i-- > 0;) {  // the one that asks for least
    if (!builds[i].there) continue;
    fprintf(stderr,
            "%s: no build runs here: even %s needs %s, which this processor or system lacks\n",
            place.name, builds[i].needs->isa, builds[i].missing);
    return kExitCpu;
  }
  fprintf(stderr, "%s: no build of it in %s/../libexec/krafla, nor in %s\n", place.name,
          place.folder, place.folder);
  return kExitOther;
}

int Launch(int argc, char** argv) {
  static Place place;
  if (!FindPlace(&place)) {
    fprintf(stderr, "krafla: the launcher cannot tell where its own file is\n");
    return kExitOther;
  }
  const Machine machine = ReadMachine();
  Build builds[kMaxBuilds];
  const size_t n = ListBuilds(machine, IsThere, &place, builds);
  const char* wanted = getenv("KRAFLA_ISA");
  if (wanted != nullptr && wanted[0] == 0) wanted = nullptr;
  size_t chosen = NextBuild(builds, n, 0);
  if (wanted != nullptr) {
    chosen = FindBuild(builds, n, wanted);
    if (chosen < n && builds[chosen].missing != nullptr) chosen = n;
  }
  if (argc == 2 && strcmp(argv[1], "--isa-info") == 0) {
    return Explain(place, machine, builds, n, chosen, wanted);
  }
  if (chosen == n) return Refuse(place, builds, n, wanted);

  // One that cannot be started (damaged, a foreign file) gives way to the next.
  for (;;) {
    char path[kPathBytes];
    const char* reason = "it is gone";
    if (FindFile(place, builds[chosen].needs->isa, path)) reason = Become(path, argv);
    fprintf(stderr, "%s: %s cannot be started: %s\n", place.name, path, reason);
    chosen = wanted != nullptr ? n : NextBuild(builds, n, chosen + 1);
    if (chosen == n) return kExitOther;
  }
}

}  // namespace
}  // namespace krafla::launch

int main(int argc, char** argv) { return krafla::launch::Launch(argc, argv); }

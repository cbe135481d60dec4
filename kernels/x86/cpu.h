// What an x86 processor and its operating system offer. The state is read once into a plain struct
// and judged by a pure function, so that a test can present any machine: a processor that has AVX
// under a system that does not save its registers is one.
#ifndef KRAFLA_KERNELS_X86_CPU_H_
#define KRAFLA_KERNELS_X86_CPU_H_

#include <cpuid.h>
#include <stddef.h>
#include <stdint.h>

namespace krafla {
namespace {

struct X86State {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf1_edx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_1_eax = 0;
  uint64_t xcr0 = 0;  // 0 where the system has not enabled XSAVE
};

struct X86Feature {
  const char* name;
  uint32_t X86State::*leaf;
  uint32_t bit;
  uint64_t xcr0;  // register states that the system must save
};

constexpr uint64_t kSavesYmm = 0x06;  // SSE and AVX state
constexpr uint64_t kSavesZmm = 0xe6;  // and mask registers, both halves of zmm

inline bool processor_has(const X86State& state, const X86Feature& f) {
  return (state.*f.leaf >> f.bit & 1) != 0;
}

inline bool system_saves(const X86State& state, const X86Feature& f) {
  return (state.xcr0 & f.xcr0) == f.xcr0;
}

// The first of the features that the machine lacks, or null.
inline const char* first_missing(const X86State& state, const X86Feature* features, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (!processor_has(state, features[i]) || !system_saves(state, features[i])) {
      return features[i].name;
    }
  }
  return nullptr;
}

template <size_t N>
inline const char* first_missing(const X86State& state, const X86Feature (&features)[N]) {
  return first_missing(state, features, N);
}

inline X86State read_x86_state() {
  X86State state;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return state;
  state.leaf1_ecx = ecx;
  state.leaf1_edx = edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
    state.leaf7_ebx = ebx;
    state.leaf7_ecx = ecx;
    if (eax >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0) state.leaf7_1_eax = eax;
  }
  if ((state.leaf1_ecx >> 27 & 1) != 0) {  // OSXSAVE: xgetbv may be executed
    uint32_t low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    state.xcr0 = static_cast<uint64_t>(high) << 32 | low;
  }
  return state;
}

}  // namespace
}  // namespace krafla

#endif  // KRAFLA_KERNELS_X86_CPU_H_

// What an ARM processor offers, as the system tells it (its hardware capabilities name only what it
// also saves). The state is a plain struct that a pure function judges, so that a test can present
// any machine.
#ifndef KRAFLA_KERNELS_ARM_CPU_H_
#define KRAFLA_KERNELS_ARM_CPU_H_

#include <stddef.h>
#include <stdint.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

namespace krafla {
namespace {

struct ArmState {
  uint64_t hwcap = 0;
  uint64_t hwcap2 = 0;
};

struct ArmFeature {
  const char* name;
  uint64_t ArmState::*word;
  uint32_t bit;
};

inline bool processor_has(const ArmState& state, const ArmFeature& f) {
  return (state.*f.word >> f.bit & 1) != 0;
}

// The system names no feature whose registers it does not save.
inline bool system_saves(const ArmState&, const ArmFeature&) { return true; }

// The first of the features that the machine lacks, or null.
inline const char* first_missing(const ArmState& state, const ArmFeature* features, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (!processor_has(state, features[i])) return features[i].name;
  }
  return nullptr;
}

template <size_t N>
inline const char* first_missing(const ArmState& state, const ArmFeature (&features)[N]) {
  return first_missing(state, features, N);
}

inline ArmState read_arm_state() {
  ArmState state;
#ifdef __linux__
  state.hwcap = getauxval(AT_HWCAP);
  state.hwcap2 = getauxval(AT_HWCAP2);
#endif
  return state;
}

}  // namespace
}  // namespace krafla

#endif  // KRAFLA_KERNELS_ARM_CPU_H_

// What the neon_i8mm build needs, in the order in which a lack is reported. A header, so that
// the test can judge machines that it does not run on. Bits: the kernel's HWCAP and HWCAP2 of
// AArch64.
#ifndef KRAFLA_KERNELS_NEON_I8MM_CPU_H_
#define KRAFLA_KERNELS_NEON_I8MM_CPU_H_

#include "kernels/arm/cpu.h"

namespace krafla::neon_i8mm {
namespace {

constexpr ArmFeature kFeatures[] = {
    {"asimd", &ArmState::hwcap, 1},
    {"asimddp", &ArmState::hwcap, 20},
    {"i8mm", &ArmState::hwcap2, 13},
};

}  // namespace
}  // namespace krafla::neon_i8mm

#endif  // KRAFLA_KERNELS_NEON_I8MM_CPU_H_

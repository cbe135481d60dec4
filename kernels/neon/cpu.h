// What the neon build needs, in the order in which a lack is reported. A header, so that the test
// can judge machines that it does not run on. Bits: the kernel's HWCAP of AArch64.
#ifndef KRAFLA_KERNELS_NEON_CPU_H_
#define KRAFLA_KERNELS_NEON_CPU_H_

#include "kernels/arm/cpu.h"

namespace krafla::neon {
namespace {

constexpr ArmFeature kFeatures[] = {
    {"asimd", &ArmState::hwcap, 1},
};

}  // namespace
}  // namespace krafla::neon

#endif  // KRAFLA_KERNELS_NEON_CPU_H_

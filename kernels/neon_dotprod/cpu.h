// What the neon_dotprod build needs, in the order in which a lack is reported. A header, so that
// the test can judge machines that it does not run on. Bits: the kernel's HWCAP of AArch64.
#ifndef KRAFLA_KERNELS_NEON_DOTPROD_CPU_H_
#define KRAFLA_KERNELS_NEON_DOTPROD_CPU_H_

#include "kernels/arm/cpu.h"

namespace krafla::neon_dotprod {
namespace {

constexpr ArmFeature kFeatures[] = {
    {"asimd", &ArmState::hwcap, 1},
    {"asimddp", &ArmState::hwcap, 20},
};

}  // namespace
}  // namespace krafla::neon_dotprod

#endif  // KRAFLA_KERNELS_NEON_DOTPROD_CPU_H_

// What the neon build of ARMv7 needs, in the order in which a lack is reported. A header, so that
// the test can judge machines that it does not run on. Bits: the kernel's HWCAP of ARM.
#ifndef KRAFLA_KERNELS_ARMV7_CPU_H_
#define KRAFLA_KERNELS_ARMV7_CPU_H_

#include "kernels/arm/cpu.h"

namespace krafla::armv7 {
namespace {

constexpr ArmFeature kFeatures[] = {
    {"neon", &ArmState::hwcap, 12},
};

}  // namespace
}  // namespace krafla::armv7

#endif  // KRAFLA_KERNELS_ARMV7_CPU_H_

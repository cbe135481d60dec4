// What the sse2 build needs, in the order in which a lack is reported. A header, so that the test
// can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_SSE2_CPU_H_
#define KRAFLA_KERNELS_SSE2_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla {
namespace {

constexpr X86Feature kSse2Features[] = {
    {"sse2", &X86State::leaf1_edx, 26, 0},
};

}  // namespace
}  // namespace krafla

#endif  // KRAFLA_KERNELS_SSE2_CPU_H_

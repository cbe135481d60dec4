// What the sse2 build needs, in the order in which a lack is reported. A header, so that the test
// can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_SSE2_CPU_H_
#define KRAFLA_KERNELS_SSE2_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla::sse2 {
namespace {

constexpr X86Feature kFeatures[] = {
    {"sse2", &X86State::leaf1_edx, 26, 0},
};

}  // namespace
}  // namespace krafla::sse2

#endif  // KRAFLA_KERNELS_SSE2_CPU_H_

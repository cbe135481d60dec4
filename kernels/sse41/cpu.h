// What the sse41 build needs, in the order in which a lack is reported. A header, so that the test
// can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_SSE41_CPU_H_
#define KRAFLA_KERNELS_SSE41_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla::sse41 {
namespace {

constexpr X86Feature kFeatures[] = {
    {"ssse3", &X86State::leaf1_ecx, 9, 0},
    {"sse4.1", &X86State::leaf1_ecx, 19, 0},
};

}  // namespace
}  // namespace krafla::sse41

#endif  // KRAFLA_KERNELS_SSE41_CPU_H_

// What the avx2 build needs, in the order in which a lack is reported. A header, so that the test
// can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_AVX2_CPU_H_
#define KRAFLA_KERNELS_AVX2_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla::avx2 {
namespace {

constexpr X86Feature kFeatures[] = {
    {"avx", &X86State::leaf1_ecx, 28, kSavesYmm},
    {"f16c", &X86State::leaf1_ecx, 29, kSavesYmm},
    {"avx2", &X86State::leaf7_ebx, 5, kSavesYmm},
};

}  // namespace
}  // namespace krafla::avx2

#endif  // KRAFLA_KERNELS_AVX2_CPU_H_

// What the avx512vnni build needs, in the order in which a lack is reported. A header, so that the
// test can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_AVX512VNNI_CPU_H_
#define KRAFLA_KERNELS_AVX512VNNI_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla::avx512vnni {
namespace {

constexpr X86Feature kFeatures[] = {
    {"avx", &X86State::leaf1_ecx, 28, kSavesYmm},
    {"f16c", &X86State::leaf1_ecx, 29, kSavesYmm},
    {"avx2", &X86State::leaf7_ebx, 5, kSavesYmm},
    {"avx512f", &X86State::leaf7_ebx, 16, kSavesZmm},
    {"avx512dq", &X86State::leaf7_ebx, 17, kSavesZmm},
    {"avx512bw", &X86State::leaf7_ebx, 30, kSavesZmm},
    {"avx512vl", &X86State::leaf7_ebx, 31, kSavesZmm},
    {"avx512_vnni", &X86State::leaf7_ecx, 11, kSavesZmm},
};

}  // namespace
}  // namespace krafla::avx512vnni

#endif  // KRAFLA_KERNELS_AVX512VNNI_CPU_H_

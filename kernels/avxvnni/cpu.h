// What the avxvnni build needs, in the order in which a lack is reported. A header, so that the
// test can judge machines that it does not run on.
#ifndef KRAFLA_KERNELS_AVXVNNI_CPU_H_
#define KRAFLA_KERNELS_AVXVNNI_CPU_H_

#include "kernels/x86/cpu.h"

namespace krafla::avxvnni {
namespace {

constexpr X86Feature kFeatures[] = {
    {"avx", &X86State::leaf1_ecx, 28, kSavesYmm},
    {"f16c", &X86State::leaf1_ecx, 29, kSavesYmm},
    {"avx2", &X86State::leaf7_ebx, 5, kSavesYmm},
#ifdef KRAFLA_EVEX  // the same kernels in another encoding (meson_options.txt)
    {"avx512vl", &X86State::leaf7_ebx, 31, kSavesZmm},
    {"avx512_vnni", &X86State::leaf7_ecx, 11, kSavesZmm},
#else
    {"avx_vnni", &X86State::leaf7_1_eax, 4, kSavesYmm},
#endif
};

}  // namespace
}  // namespace krafla::avxvnni

#endif  // KRAFLA_KERNELS_AVXVNNI_CPU_H_

// Whether this machine runs the avx512vnni build. Compiled for the baseline: it must answer where
// it may not.
#include "kernels/avx512vnni/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "avx512vnni"; }

const char* missing_feature() { return first_missing(read_x86_state(), avx512vnni::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

// Whether this machine runs the avx2 build. Compiled for the baseline: it must answer where it may
// not.
#include "kernels/avx2/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "avx2"; }

const char* missing_feature() { return first_missing(read_x86_state(), avx2::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

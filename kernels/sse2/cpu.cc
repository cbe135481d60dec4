// Whether this machine runs the sse2 build. Compiled for the baseline: it must answer where it may
// not.
#include "kernels/sse2/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "sse2"; }

const char* missing_feature() { return first_missing(read_x86_state(), sse2::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

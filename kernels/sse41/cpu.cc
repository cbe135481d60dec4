// Whether this machine runs the sse41 build. Compiled for the baseline: it must answer where it may
// not.
#include "kernels/sse41/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "sse41"; }

const char* missing_feature() { return first_missing(read_x86_state(), sse41::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

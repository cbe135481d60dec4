// Whether this machine runs the neon_dotprod build. Compiled for the baseline: it must answer where
// it may not.
#include "kernels/neon_dotprod/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "neon_dotprod"; }

const char* missing_feature() { return first_missing(read_arm_state(), neon_dotprod::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

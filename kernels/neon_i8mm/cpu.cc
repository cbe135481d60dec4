// Whether this machine runs the neon_i8mm build. Compiled for the baseline: it must answer where
// it may not.
#include "kernels/neon_i8mm/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "neon_i8mm"; }

const char* missing_feature() { return first_missing(read_arm_state(), neon_i8mm::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

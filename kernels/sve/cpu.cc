// Whether this machine runs the sve build. Compiled for the baseline: it must answer where
// it may not.
#include "kernels/sve/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "sve"; }

const char* missing_feature() { return first_missing(read_arm_state(), sve::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

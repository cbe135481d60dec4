// Whether this machine runs the neon build of ARMv7. Compiled for the baseline: it must answer
// where it may not.
#include "kernels/armv7/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "neon"; }

const char* missing_feature() { return first_missing(read_arm_state(), armv7::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

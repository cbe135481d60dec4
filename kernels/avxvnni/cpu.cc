// Whether this machine runs the avxvnni build. Compiled for the baseline: it must answer where it
// may not.
#include "kernels/avxvnni/cpu.h"

#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "avxvnni"; }

const char* missing_feature() { return first_missing(read_x86_state(), avxvnni::kFeatures); }

}  // namespace krafla::KRAFLA_KERNELS

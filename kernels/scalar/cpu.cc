// The scalar build runs wherever the program itself does: it has no instructions beyond the
// baseline.
#include "kernels/kernels.h"

namespace krafla::KRAFLA_KERNELS {

const char* isa_name() { return "scalar"; }

const char* missing_feature() { return nullptr; }

}  // namespace krafla::KRAFLA_KERNELS

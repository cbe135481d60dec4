// Options of streaming, shared by the entry points that open and plan.
#ifndef KRAFLA_CAPI_RESIDENCY_H_
#define KRAFLA_CAPI_RESIDENCY_H_

#include <optional>

#include "include/krafla/krafla_residency.h"
#include "lib/weights/residency/residency.h"

namespace krafla::capi {

// Nothing where the options say nothing of residency.
StatusOr<std::optional<ResidencyOptions>> ToResidencyOptions(const krafla_model_options& given);

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_RESIDENCY_H_

// What this machine can do at most: the rates that ml_bench sets speeds against.
#ifndef KRAFLA_LIB_EVAL_MACHINE_H_
#define KRAFLA_LIB_EVAL_MACHINE_H_

#include <cstdint>

#include "lib/base/status.h"
#include "lib/model/model.h"

namespace krafla {

// Bytes a second that plain loads reach over a buffer of `bytes` in large pages.
StatusOr<double> MeasureReadBandwidth(int32_t threads, uint64_t bytes);

// Likewise over a model's own tensors, in whatever pages they lie: what decoding could reach at
// most as the model was loaded.
StatusOr<double> MeasureWeightsRead(const Model& model, int32_t threads);

// Int8 multiply-adds a second of this build's dot product.
StatusOr<double> MeasureInt8Peak(int32_t threads);

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_MACHINE_H_

// What a conversion would write, told instead of written.
#ifndef KRAFLA_LIB_CONVERT_SIZES_H_
#define KRAFLA_LIB_CONVERT_SIZES_H_

#include <cstdint>
#include <span>
#include <string>

#include "lib/base/status.h"
#include "lib/convert/convert.h"
#include "lib/convert/plan.h"
#include "lib/file/mlb_writer.h"

namespace krafla {

// Calls options.sizes as ConvertSizes says; writer: with all declared. CallbackError: it said stop.
Status TellSizes(const ConvertOptions& options, std::span<const PlannedTensor> plan,
                 uint64_t tokenizer_bytes, uint64_t template_bytes, const MlbWriter& writer);

// Behind these the "least memory" that the model's weights take with
// krafla_model_options.residency.
Status TellMemory(const ConvertOptions& options, size_t experts_used, const MlbWriter& writer);

// Likewise, in a conversion too: a part of the checkpoint that is left out is "skipped vision.".
Status TellSkipped(const ConvertOptions& options, std::span<const std::string> parts);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_SIZES_H_

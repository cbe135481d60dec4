// Which matrices get more bits: formats by class, and a share of the bytes, or a file's size, spent
// on the matrices that need it most.
#ifndef KRAFLA_LIB_CONVERT_MIX_H_
#define KRAFLA_LIB_CONVERT_MIX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/convert.h"
#include "lib/convert/plan.h"

namespace krafla {

// "q4+10%q6a", or "q4+q6a" where a size decides how much.
StatusOr<MixOptions> ParseMix(std::string_view text);

// "attention=q8,head=q6a": names of ParseClassList, and attention (q k v o) and ffn (gate up down).
StatusOr<std::vector<ClassFormat>> ParseClassFormats(std::string_view list);

// Promotes matrices of plan that are in the mix's base format. other_bytes: what the file has
// beside tensors. Tells options.sizes each one and why.
Status ApplyMix(const ConvertOptions& options, uint64_t other_bytes,
                std::vector<PlannedTensor>* plan);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_MIX_H_

// Which tensor of the checkpoint becomes which tensor of the .mlb, in which format: names, shapes
// and types matched before a byte is written.
#ifndef KRAFLA_LIB_CONVERT_PLAN_H_
#define KRAFLA_LIB_CONVERT_PLAN_H_

#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/convert/checkpoint.h"
#include "lib/convert/convert.h"
#include "lib/convert/import.h"
#include "lib/model/arch.h"
#include "lib/quant/format.h"

namespace krafla {

struct PlannedTensor {
  TensorSpec spec;  // gguf_permuted_heads and hf_derived only where the source is of that kind
  TensorForm form;  // the one that the checkpoint has
  // One, or one an expert, or blocks and scales of the form mxfp4. All of one type.
  std::vector<const CheckpointTensor*> sources;
  Format format = Format::kF32;  // of a matrix; a vector is plain f32
  AffineSolver solver = AffineSolver::kLeastSquares;

  bool is_vector() const { return spec.rows == 0; }
  uint64_t experts() const { return spec.experts > 0 ? static_cast<uint64_t>(spec.experts) : 1; }
  const CheckpointTensor& source() const { return *sources.front(); }
  SourceType type() const { return form.mxfp4 ? SourceType::kMXFP4 : source().type; }
  uint64_t row_bytes() const;  // of one of our rows as the checkpoint has it
};

uint64_t PlannedBytes(const PlannedTensor& planned);  // in the .mlb

// "v", "down", ... -> its class; ArgumentError lists the names.
StatusOr<TensorClass> ParseTensorClass(std::string_view name);
std::string_view TensorClassName(TensorClass kind);  // "vectors" for what has no name of its own

// In the order of execution. Sets import->config.tied_head where head and embedding have equal
// content. FileError: names of missing or unexpected tensors, shapes, types.
StatusOr<std::vector<PlannedTensor>> PlanTensors(Import* import, Format wtype,
                                                 const std::vector<ClassFormat>& exceptions);

}  // namespace krafla

#endif  // KRAFLA_LIB_CONVERT_PLAN_H_

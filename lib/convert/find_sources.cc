// A form is taken if the first of its tensors is there: then all must be.
#include "lib/convert/find_sources.h"

#include <algorithm>

#include "kernels/kernels.h"

namespace krafla {
namespace {

constexpr std::string_view kNumber = "{}";

// The shape that a source should have.
std::vector<uint64_t> WantedShape(const TensorForm& form, const TensorSpec& spec) {
  if (!form.shape.empty()) return form.shape;
  std::vector<uint64_t> shape;
  if (spec.experts > 0 && form.name.find(kNumber) == std::string::npos) {
    shape.push_back(static_cast<uint64_t>(spec.experts));
  }
  if (spec.rows != 0) shape.push_back(static_cast<uint64_t>(spec.rows));
  shape.push_back(static_cast<uint64_t>(spec.cols));
  return shape;
}

// Leading ones say nothing: a vector may be written as a matrix of one row.
std::vector<uint64_t> WithoutLeadingOnes(std::vector<uint64_t> shape) {
  while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
  return shape;
}

Status CheckShape(const Import& import, const std::vector<uint64_t>& want,
                  const CheckpointTensor& tensor) {
  if (WithoutLeadingOnes(tensor.shape) == WithoutLeadingOnes(want)) return OkStatus();
  return FileError("{}: tensor {}: {}, want {}", import.format(), tensor.name,
                   ShapeText(tensor.shape), ShapeText(want));
}

Status CheckType(const Import& import, const CheckpointTensor& tensor,
                 const CheckpointTensor& first) {
  if (tensor.type == SourceType::kOther) {
    return UnsupportedError("{}: tensor {} in {}: {} cannot be a weight, want one of {}",
                            import.format(), tensor.name, tensor.file->name(), tensor.type_name,
                            import.gguf ? kGgufWeightTypes : kSafetensorsWeightTypes);
  }
  if (tensor.type == first.type) return OkStatus();
  return UnsupportedError("{}: tensor {}: {}, want {} as {}", import.format(), tensor.name,
                          tensor.type_name, first.type_name, first.name);
}

// Blocks [..., cols / 32, 16] and scales [..., cols / 32], both of bytes.
Status CheckMxfp4(const Import& import, std::vector<uint64_t> want, const PlannedTensor& planned) {
  if (want.back() % kBlock != 0) {
    return FileError("{}: tensor {}: {} columns, want a multiple of {}", import.format(),
                     planned.source().name, want.back(), kBlock);
  }
  want.back() /= kBlock;
  KRAFLA_RETURN_IF_ERROR(CheckShape(import, want, *planned.sources[1]));
  want.push_back(kBlock / 2);
  KRAFLA_RETURN_IF_ERROR(CheckShape(import, want, *planned.sources[0]));
  for (const CheckpointTensor* tensor : planned.sources) {
    if (tensor->type_name == "U8") continue;
    return UnsupportedError("{}: tensor {}: {}, want U8", import.format(), tensor->name,
                            tensor->type_name);
  }
  return OkStatus();
}

Status CheckSources(const Import& import, const PlannedTensor& planned) {
  const std::vector<uint64_t> want = WantedShape(planned.form, planned.spec);
  if (planned.form.mxfp4) return CheckMxfp4(import, want, planned);
  for (const CheckpointTensor* tensor : planned.sources) {
    KRAFLA_RETURN_IF_ERROR(CheckShape(import, want, *tensor));
    KRAFLA_RETURN_IF_ERROR(CheckType(import, *tensor, planned.source()));
  }
  if (planned.form.transposed && SizeOf(planned.type()).block != 1) {
    return UnsupportedError("{}: tensor {}: {} in columns is not built here", import.format(),
                            planned.source().name, planned.source().type_name);
  }
  return OkStatus();
}

}  // namespace

std::vector<std::string> FormNames(const TensorForm& form, const TensorSpec& spec) {
  if (form.mxfp4) return {form.name + "_blocks", form.name + "_scales"};
  const size_t at = form.name.find(kNumber);
  if (at == std::string::npos) return {form.name};
  std::vector<std::string> names;
  for (int64_t i = 0; i < spec.experts; ++i) {
    names.push_back(
        FormatText("{}{}{}", form.name.substr(0, at), i, form.name.substr(at + kNumber.size())));
  }
  return names;
}

Status FindSources(const Import& import, const TensorSpec& spec, PlannedTensor* planned,
                   std::vector<std::string>* missing) {
  const std::vector<TensorForm>& forms = import.gguf ? spec.gguf : spec.hf;
  const auto begun = std::find_if(forms.begin(), forms.end(), [&](const TensorForm& form) {
    return import.checkpoint.Find(FormNames(form, spec).front()) != nullptr;
  });
  planned->spec = spec;
  planned->form = begun == forms.end() ? forms.front() : *begun;
  planned->sources.clear();
  const size_t before = missing->size();
  for (std::string& name : FormNames(planned->form, spec)) {
    const CheckpointTensor* tensor = import.checkpoint.Find(name);
    if (tensor == nullptr) missing->push_back(std::move(name));
    planned->sources.push_back(tensor);
  }
  return missing->size() == before ? CheckSources(import, *planned) : OkStatus();
}

}  // namespace krafla

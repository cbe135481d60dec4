// Opening a model: configuration, weights, network, and the sections that the tokenizer and the
// chat template read.
#include "lib/model/model.h"

#include <utility>

#include "lib/model/arch.h"

namespace krafla {
namespace {

bool IsProjection(TensorClass kind) {
  return kind != TensorClass::kVector && kind != TensorClass::kEmbed && kind != TensorClass::kHead;
}

}  // namespace

StatusOr<std::shared_ptr<const Model>> Model::Open(std::shared_ptr<Runtime> runtime,
                                                   std::unique_ptr<MlbFile> file,
                                                   LoadProgress progress, void* user,
                                                   const ResidencyOptions* stream) {
  std::shared_ptr<Model> model(new Model);
  KRAFLA_ASSIGN_OR_RETURN(model->config_, ConfigFromMetadata(*file));
  const Arch* arch = FindArch(model->config_.arch);
  if (arch == nullptr) {
    return UnsupportedError("{}: architecture \"{}\" is not built here", file->source().name(),
                            model->config_.arch);
  }
  KRAFLA_ASSIGN_OR_RETURN(model->tokenizer_table_, file->Section("tokenizer"));
  KRAFLA_ASSIGN_OR_RETURN(model->template_, file->Section("template"));
  model->runtime_ = runtime;
  Weights::Stream streamed;
  if (stream != nullptr) {
    streamed = {*stream, static_cast<size_t>(model->config_.n_experts_used)};
  }
  KRAFLA_ASSIGN_OR_RETURN(model->weights_,
                          Weights::Load(std::move(runtime), std::move(file), progress, user,
                                        stream != nullptr ? &streamed : nullptr));
  KRAFLA_ASSIGN_OR_RETURN(model->network_, arch->build(model->config_, *model->weights_));
  if (const Residency* residency = model->residency();
      residency != nullptr && residency->layout().whole_layers &&
      residency->layout().layers.size() != model->network_->shape().n_layers) {
    return FileError("{}: {} layers, want {}", model->file().source().name(),
                     residency->layout().layers.size(), model->network_->shape().n_layers);
  }
  for (const TensorSpec& spec : arch->tensors(model->config_)) {
    const MlbTensor* tensor = model->file().Tensor(spec.name);
    if (tensor == nullptr) continue;  // the network did not ask for it
    model->weight_bytes_ += tensor->bytes;
    const auto used = static_cast<uint64_t>(model->config_.n_experts_used);
    const uint64_t n = spec.experts == 0 ? 1 : static_cast<uint64_t>(spec.experts);
    const uint64_t read = spec.experts == 0 ? 1 : used;  // of n matrices
    if (spec.kind != TensorClass::kEmbed || model->config_.tied_head) {
      model->bytes_per_token_ += tensor->bytes / n * read;
    }
    if (IsProjection(spec.kind)) {
      model->macs_per_token_ +=
          read * static_cast<uint64_t>(spec.rows) * static_cast<uint64_t>(spec.cols);
    }
  }
  return std::shared_ptr<const Model>(std::move(model));
}

}  // namespace krafla

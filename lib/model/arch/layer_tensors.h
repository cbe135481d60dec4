// How the tensors of a decoder's layer are listed: their own names and the forms in which Hugging
// Face folders and GGUF files hold them.
#ifndef KRAFLA_LIB_MODEL_ARCH_LAYER_TENSORS_H_
#define KRAFLA_LIB_MODEL_ARCH_LAYER_TENSORS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/model/arch/decoder.h"

namespace krafla {

class LayerTensors {
 public:
  LayerTensors(int64_t layer, std::vector<TensorSpec>* specs) : layer_(layer), specs_(specs) {}

  int64_t layer() const { return layer_; }
  // Full names of this layer's tensors.
  std::string Hf(std::string_view name) const {
    return FormatText("model.layers.{}.{}", layer_, name);
  }
  std::string Gguf(std::string_view name) const { return FormatText("blk.{}.{}", layer_, name); }

  TensorSpec& Add(std::string_view name, TensorClass kind, int64_t rows, int64_t cols) {
    TensorSpec& spec = specs_->emplace_back();
    spec.name = FormatText("layers.{}.{}", layer_, name);
    spec.kind = kind;
    spec.rows = rows;
    spec.cols = cols;
    return spec;
  }
  void Append(TensorSpec spec) { specs_->push_back(std::move(spec)); }
  // With names without their ends: ".weight", ".bias".
  TensorSpec& Add(std::string_view name, std::string_view hf, std::string_view gguf,
                  TensorClass kind, int64_t rows, int64_t cols, std::string_view end = "weight") {
    TensorSpec& spec = Add(name, kind, rows, cols);
    spec.hf = {{Hf(FormatText("{}.{}", hf, end))}};
    spec.gguf = {{Gguf(FormatText("{}.{}", gguf, end))}};
    return spec;
  }
  TensorSpec& Bias(std::string_view name, std::string_view hf, std::string_view gguf,
                   int64_t size) {
    return Add(name, hf, gguf, TensorClass::kVector, 0, size, "bias");
  }
  TensorSpec& Norm(std::string_view name, std::string_view hf, std::string_view gguf, int64_t size,
                   bool plus_one) {
    TensorSpec& spec = Add(name, hf, gguf, TensorClass::kVector, 0, size);
    if (plus_one) spec.hf_derived = Derived::kOnePlus;
    return spec;
  }
  // Rows of a matrix that holds several of ours.
  void Part(std::string_view name, std::string_view hf, std::string_view gguf, TensorClass kind,
            int64_t rows, int64_t cols, int64_t first_row, int64_t source_rows) {
    TensorSpec& spec = Add(name, hf, gguf, kind, rows, cols);
    for (auto* forms : {&spec.hf, &spec.gguf}) {
      forms->front().shape = {static_cast<uint64_t>(source_rows), static_cast<uint64_t>(cols)};
      forms->front().first = static_cast<uint64_t>(first_row);
    }
  }

 private:
  int64_t layer_;
  std::vector<TensorSpec>* specs_;
};

void AddAttentionTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer);
void AddFfnNorm(const Config& config, const DecoderFamily& family, LayerTensors* layer);
void AddFfnTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer);
void AddExpertTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer);
void AddDeltaTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_LAYER_TENSORS_H_

// The decoder that most families are: embedding, layers of grouped attention and a gated
// feed-forward with RMS norms, head. A family's file says in what it differs: a DecoderFamily for
// what holds for all its models, and readers of the configuration for what its models choose.
#ifndef KRAFLA_LIB_MODEL_ARCH_DECODER_H_
#define KRAFLA_LIB_MODEL_ARCH_DECODER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/model/arch.h"
#include "lib/model/blocks.h"
#include "lib/model/blocks_experts.h"

namespace krafla {

struct DecoderFamily {
  std::string_view name;            // in the registry: Hugging Face's model_type
  std::string_view gguf_name = {};  // the prefix of a GGUF's keys; empty: the same
  NormPlace norms = NormPlace::kBefore;
  QkNorm qk_norm = QkNorm::kNone;
  Activation activation = Activation::kSilu;
  // Checkpoints hold q, k and v in one matrix, gate and up in another.
  bool fused = false;
  bool hf_norm_plus_one = false;
  bool gguf_permuted = false;   // see TensorSpec
  bool partial_rotary = false;  // may rotate a part of each head only
  double rotated = 1;           // that part where a config.json does not say
  bool sinks = false;           // of attention
  bool delta = false;           // layers may be gated delta nets
  bool experts = false;         // layers may have experts
  Router router = Router::kSoftmax;
  bool router_bias = false;
  // Experts' matrices have biases, and checkpoints hold gate and up as every other row of one.
  bool expert_biases = false;

  constexpr std::string_view gguf() const { return gguf_name.empty() ? name : gguf_name; }
};

// What the families' configurations have in common. Fields that a config.json may leave out keep
// the values they have; sizes that then are still 0 are an error.
Status ReadHfDecoder(const KeyValues& values, const DecoderFamily& family, Config* config);
Status ReadGgufDecoder(const KeyValues& values, const DecoderFamily& family, Config* config);

// Which layers have a sliding window. Its size is 0 where there is none.
using LayerRule = bool (*)(int64_t layer, int64_t parameter);
bool EveryLayer(int64_t layer, int64_t);
bool AllButEveryNth(int64_t layer, int64_t n);  // the others see all
bool FromLayer(int64_t layer, int64_t first);
void SetWindows(int64_t window, LayerRule rule, int64_t parameter, Config* config);
// config.json's layer_types where it has them, else the rule.
Status ReadHfWindows(const KeyValues& values, int64_t window, LayerRule rule, int64_t parameter,
                     Config* config);
// A GGUF's sliding_window, else `window`; the rule.
Status ReadGgufWindows(const KeyValues& values, int64_t window, LayerRule rule, int64_t parameter,
                       Config* config);
// sliding_window; null: 0, absent: *window stays as it is.
Status ReadHfWindowSize(const KeyValues& values, int64_t* window);
// Qwen's keys: use_sliding_window, and the windows only from max_window_layers on.
Status ReadQwenWindows(const KeyValues& values, Config* config);

// The keys of mixtures of experts. What a config.json leaves out keeps its value.
Status ReadHfExperts(const KeyValues& values, Config* config);
Status ReadGgufExperts(const KeyValues& values, const DecoderFamily& family, Config* config);
// The keys of gated delta nets, and which layers are: layer_types, else all but every n-th.
Status ReadHfDelta(const KeyValues& values, Config* config);
Status ReadGgufDelta(const KeyValues& values, const DecoderFamily& family, Config* config);

std::vector<TensorSpec> DecoderTensors(const Config& config, const DecoderFamily& family);
StatusOr<std::unique_ptr<Network>> BuildDecoder(const Config& config, const DecoderFamily& family,
                                                const Weights& weights);

using ConfigReader = Status (*)(const KeyValues& values, Config* config);

template <const DecoderFamily& kFamily>
constexpr Arch DecoderArch(std::span<const std::string_view> hf_names,
                           std::span<const std::string_view> gguf_names, ConfigReader from_hf,
                           ConfigReader from_gguf) {
  return {kFamily.name,
          hf_names,
          gguf_names,
          from_hf,
          from_gguf,
          [](const Config& config) { return DecoderTensors(config, kFamily); },
          DecoderShape,
          [](const Config& config, const Weights& weights) {
            return BuildDecoder(config, kFamily, weights);
          }};
}

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_DECODER_H_

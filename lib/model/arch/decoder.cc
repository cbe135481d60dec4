// Tensors and layers of a decoder: names, shapes and steps as its family and its configuration say.
#include "lib/model/arch/decoder.h"

#include <cmath>
#include <string>

#include "lib/model/arch/layer_tensors.h"
#include "lib/model/blocks_delta.h"
#include "lib/model/rope.h"

namespace krafla {
namespace {

AttentionTraits LayerAttention(const Config& config, const DecoderFamily& family, int64_t layer) {
  AttentionTraits traits;
  traits.norms = family.norms;
  traits.qk_norm = family.qk_norm;
  traits.qkv_bias = config.qkv_bias;
  traits.o_bias = config.o_bias;
  traits.gate = config.attention_gate;
  traits.sinks = family.sinks;
  traits.rope = config.rope_of(layer);
  traits.window = config.window(layer);
  traits.scale = static_cast<float>(config.attention_scale != 0
                                        ? config.attention_scale
                                        : 1 / std::sqrt(static_cast<double>(config.head_dim)));
  traits.softcap = static_cast<float>(config.attention_softcap);
  traits.residual_scale = static_cast<float>(config.residual_scale);
  return traits;
}

ExpertTraits Experts(const Config& config, const DecoderFamily& family) {
  ExpertTraits traits;
  traits.router = family.router;
  traits.norm_topk = config.norm_topk;
  traits.router_bias = family.router_bias;
  traits.biases = family.expert_biases;
  traits.swiglu_alpha = static_cast<float>(config.swiglu_alpha);
  traits.swiglu_limit = static_cast<float>(config.swiglu_limit);
  traits.n_ff_shared = static_cast<size_t>(config.n_ff_shared);
  traits.residual_scale = static_cast<float>(config.residual_scale);
  return traits;
}

}  // namespace

std::vector<TensorSpec> DecoderTensors(const Config& config, const DecoderFamily& family) {
  std::vector<TensorSpec> specs;
  const auto add = [&](const char* name, const char* hf, const char* gguf, TensorClass kind,
                       int64_t rows) -> TensorSpec& {
    TensorSpec& spec = specs.emplace_back();
    spec.name = name;
    spec.hf = {{hf}};
    spec.gguf = {{gguf}};
    spec.kind = kind;
    spec.rows = rows;
    spec.cols = config.n_embd;
    return spec;
  };
  add("embed", "model.embed_tokens.weight", "token_embd.weight", TensorClass::kEmbed,
      config.n_vocab);
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerTensors layer(i, &specs);
    if (config.is_delta(i)) {
      AddDeltaTensors(config, family, &layer);
    } else {
      AddAttentionTensors(config, family, &layer);
    }
    if (config.has_experts(i)) {
      AddExpertTensors(config, family, &layer);
    } else {
      AddFfnTensors(config, family, &layer);
    }
  }
  TensorSpec& norm =
      add("norm", "model.norm.weight", "output_norm.weight", TensorClass::kVector, 0);
  if (family.hf_norm_plus_one) norm.hf_derived = Derived::kOnePlus;
  if (!config.tied_head) {
    add("head", "lm_head.weight", "output.weight", TensorClass::kHead, config.n_vocab);
  }
  return specs;
}

StatusOr<std::unique_ptr<Network>> BuildDecoder(const Config& config, const DecoderFamily& family,
                                                const Weights& weights) {
  const NetworkShape shape = DecoderShape(config);
  const auto n_rot = static_cast<size_t>(config.rotated_dims());
  std::vector<RopeTable> ropes = {MakeRopeTable(config.rope, n_rot)};
  if (config.uses_local_rope()) ropes.push_back(MakeRopeTable(config.local_rope, n_rot));
  const DeltaTraits delta = DeltaTraitsOf(config);
  const ExpertTraits experts = Experts(config, family);
  FfnTraits ffn;
  ffn.norms = family.norms;
  ffn.activation = family.activation;
  ffn.bias = config.ffn_bias;
  ffn.residual_scale = static_cast<float>(config.residual_scale);

  NetworkBuilder builder(weights, shape, config.norm_eps);
  KRAFLA_RETURN_IF_ERROR(
      builder.AddEmbed("embed", static_cast<float>(config.embed_scale), std::move(ropes)));
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const std::string prefix = FormatText("layers.{}.", i);
    builder.BeginLayer();
    KRAFLA_RETURN_IF_ERROR(config.is_delta(i)
                               ? builder.AddDelta(prefix, delta)
                               : builder.AddAttention(prefix, LayerAttention(config, family, i)));
    KRAFLA_RETURN_IF_ERROR(
        config.has_experts(i) ? builder.AddExperts(prefix, experts)
                              : builder.AddGatedFfn(prefix, static_cast<size_t>(config.n_ff), ffn));
  }
  KRAFLA_RETURN_IF_ERROR(builder.AddHead("norm", config.tied_head ? "embed" : "head",
                                         static_cast<float>(config.logit_scale),
                                         static_cast<float>(config.final_softcap)));
  return builder.Finish();
}

}  // namespace krafla

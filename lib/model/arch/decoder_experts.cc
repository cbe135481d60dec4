// Mixtures of experts in configurations and checkpoints. A checkpoint has a tensor for each expert,
// or all of them in one, gate and up apart or together.
#include <algorithm>
#include <string>
#include <utility>

#include "lib/model/arch/keys.h"
#include "lib/model/arch/layer_tensors.h"

namespace krafla {
namespace {

// The layers that have no experts: those of a list, and all but every `step`-th.
void SetDenseLayers(const std::vector<double>& listed, int64_t step, Config* config) {
  config->dense_layers.clear();
  for (int64_t i = 0; i < config->n_layers; ++i) {
    const auto number = static_cast<double>(i);
    if ((i + 1) % step != 0 || std::find(listed.begin(), listed.end(), number) != listed.end()) {
      config->dense_layers.push_back(i);
    }
  }
}

struct Part {
  const char* name;      // "w_gate"
  const char* hf;        // "gate_proj"
  const char* hf_short;  // Mixtral's: "w1"
  const char* gguf;      // "ffn_gate"
  TensorClass kind;
  uint64_t in_fused = 0;  // 0 gate, 1 up of a tensor that has both
  bool fused = false;
};
constexpr Part kParts[] = {
    {"w_gate", "gate_proj", "w1", "ffn_gate", TensorClass::kGate, 0, true},
    {"w_up", "up_proj", "w3", "ffn_up", TensorClass::kUp, 1, true},
    {"w_down", "down_proj", "w2", "ffn_down", TensorClass::kDown, 0, false},
};

// The forms of one part of all experts: [experts][rows][cols].
void SetForms(const LayerTensors& layer, const Part& part, TensorSpec* spec) {
  const auto experts = static_cast<uint64_t>(spec->experts);
  const auto rows = static_cast<uint64_t>(spec->rows);
  const auto cols = static_cast<uint64_t>(spec->cols);
  spec->hf = {{layer.Hf(FormatText("mlp.experts.{{}}.{}.weight", part.hf))},
              {layer.Hf(FormatText("block_sparse_moe.experts.{{}}.{}.weight", part.hf_short))}};
  spec->gguf = {{layer.Gguf(FormatText("{}_exps.weight", part.gguf))},
                {layer.Gguf(FormatText("{}.{{}}.weight", part.gguf))}};
  if (!part.fused) {
    spec->hf.push_back({layer.Hf("mlp.experts.down_proj")});
    return;
  }
  TensorForm fused{layer.Hf("mlp.experts.gate_up_proj"), {experts, 2 * rows, cols}};
  fused.first = part.in_fused * rows;
  fused.run = rows;
  fused.stride = 2 * rows;
  spec->hf.push_back(fused);
  fused.name = layer.Gguf("ffn_gate_up_exps.weight");
  spec->gguf.push_back(fused);
}

// Those of a checkpoint with biases: gate and up are every other row, 4-bit floats or the columns
// of a transposed matrix.
void SetInterleavedForms(const LayerTensors& layer, const Part& part, TensorSpec* spec) {
  const auto experts = static_cast<uint64_t>(spec->experts);
  const auto rows = static_cast<uint64_t>(spec->rows) * (part.fused ? 2 : 1);
  const auto cols = static_cast<uint64_t>(spec->cols);
  TensorForm form{layer.Hf(part.fused ? "mlp.experts.gate_up_proj" : "mlp.experts.down_proj"),
                  {experts, rows, cols}};
  form.first = part.in_fused;
  form.step = part.fused ? 2 : 1;
  form.mxfp4 = true;
  spec->hf = {form};
  form.mxfp4 = false;
  form.transposed = true;
  form.shape = {experts, cols, rows};
  spec->hf.push_back(form);
  spec->gguf = {{layer.Gguf(FormatText("{}_exps.weight", part.gguf))}};
}

void AddBiases(const LayerTensors& layer, const Part& part, const TensorSpec& matrices,
               TensorSpec* spec) {
  const auto experts = static_cast<uint64_t>(matrices.experts);
  const auto rows = static_cast<uint64_t>(matrices.rows);
  TensorForm form{
      layer.Hf(part.fused ? "mlp.experts.gate_up_proj_bias" : "mlp.experts.down_proj_bias"),
      {experts, part.fused ? 2 * rows : rows}};
  form.first = part.in_fused;
  form.step = part.fused ? 2 : 1;
  spec->hf = {form};
  spec->gguf = {{layer.Gguf(FormatText("{}_exps.bias", part.gguf)), {experts, rows}}};
}

void AddRouter(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  TensorSpec& router = layer->Add("router", TensorClass::kControl, config.n_experts, config.n_embd);
  router.hf = {{layer->Hf("mlp.gate.weight")},
               {layer->Hf("block_sparse_moe.gate.weight")},
               {layer->Hf("mlp.router.weight")}};
  router.gguf = {{layer->Gguf("ffn_gate_inp.weight")}};
  if (!family.router_bias) return;
  TensorSpec& bias = layer->Add("router_bias", TensorClass::kVector, 0, config.n_experts);
  bias.hf = {{layer->Hf("mlp.router.bias")},
             {layer->Hf("block_sparse_moe.e_score_correction_bias")},
             {layer->Hf("mlp.e_score_correction_bias")}};
  bias.gguf = {{layer->Gguf("ffn_gate_inp.bias")},
               {layer->Gguf("exp_probs_b.bias")},
               {layer->Gguf("exp_probs_b")}};
}

void AddShared(const Config& config, LayerTensors* layer) {
  if (config.n_ff_shared == 0) return;
  const int64_t n = config.n_embd;
  const int64_t n_ff = config.n_ff_shared;
  layer->Add("shared.gate", "mlp.shared_expert_gate", "ffn_gate_inp_shexp", TensorClass::kVector, 0,
             n);
  layer->Add("shared.w_gate", "mlp.shared_expert.gate_proj", "ffn_gate_shexp", TensorClass::kGate,
             n_ff, n);
  layer->Add("shared.w_up", "mlp.shared_expert.up_proj", "ffn_up_shexp", TensorClass::kUp, n_ff, n);
  layer->Add("shared.w_down", "mlp.shared_expert.down_proj", "ffn_down_shexp", TensorClass::kDown,
             n, n_ff);
}

}  // namespace

void AddExpertTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  AddFfnNorm(config, family, layer);
  AddRouter(config, family, layer);
  for (const Part& part : kParts) {
    const int64_t n_ff = config.n_ff_expert;
    TensorSpec spec;
    spec.name = FormatText("layers.{}.experts.{}", layer->layer(), part.name);
    spec.kind = part.kind;
    spec.experts = config.n_experts;
    spec.rows = part.fused ? n_ff : config.n_embd;
    spec.cols = part.fused ? config.n_embd : n_ff;
    spec.group = layer->layer();
    if (family.expert_biases) {
      SetInterleavedForms(*layer, part, &spec);
    } else {
      SetForms(*layer, part, &spec);
    }
    layer->Append(std::move(spec));
  }
  for (const Part& part : kParts) {
    if (!family.expert_biases) break;
    TensorSpec matrices;
    matrices.experts = config.n_experts;
    matrices.rows = part.fused ? config.n_ff_expert : config.n_embd;
    TensorSpec& bias = layer->Add(FormatText("experts.b{}", part.name + 1), TensorClass::kVector, 0,
                                  matrices.experts * matrices.rows);
    AddBiases(*layer, part, matrices, &bias);
  }
  AddShared(config, layer);
}

Status ReadHfExperts(const KeyValues& values, Config* config) {
  for (const char* key : {"num_local_experts", "num_experts"}) {
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, &config->n_experts));
  }
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "num_experts_per_tok", &config->n_experts_used));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "moe_intermediate_size", &config->n_ff_expert));
  KRAFLA_RETURN_IF_ERROR(
      ReadInteger(values, "shared_expert_intermediate_size", &config->n_ff_shared));
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "norm_topk_prob", &config->norm_topk));
  std::vector<double> dense;
  int64_t step = 1;
  KRAFLA_RETURN_IF_ERROR(ReadNumbers(values, "mlp_only_layers", &dense));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "decoder_sparse_step", &step));
  if (step < 1) return FileError("config: decoder_sparse_step: got {}, want at least 1", step);
  SetDenseLayers(dense, step, config);
  return OkStatus();
}

Status ReadGgufExperts(const KeyValues& values, const DecoderFamily& family, Config* config) {
  const auto key = [&](const char* name) { return FormatText("{}.{}", family.gguf(), name); };
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("expert_count"), &config->n_experts));
  if (config->n_experts == 0) return OkStatus();
  const std::pair<const char*, int64_t*> integers[] = {
      {"expert_used_count", &config->n_experts_used},
      {"expert_feed_forward_length", &config->n_ff_expert},
      {"expert_shared_feed_forward_length", &config->n_ff_shared},
  };
  for (const auto& [name, out] : integers) {
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key(name), out));
  }
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, key("expert_weights_norm"), &config->norm_topk));
  if (config->n_ff_expert == 0) config->n_ff_expert = config->n_ff;  // Mixtral's only size
  return OkStatus();
}

}  // namespace krafla

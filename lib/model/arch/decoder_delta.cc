// Gated delta nets in configurations and checkpoints. Qwen3-Next fuses their projections by key
// head, Qwen3.5 by kind; GGUF files keep Qwen3-Next's order of value heads and change Qwen3.5's.
#include <string>
#include <utility>

#include "lib/model/arch/keys.h"
#include "lib/model/arch/layer_tensors.h"

namespace krafla {
namespace {

struct Sizes {
  explicit Sizes(const Config& config)
      : k_dim(static_cast<uint64_t>(config.delta_k_dim)),
        keys(static_cast<uint64_t>(config.delta_k_heads) * k_dim),
        values(static_cast<uint64_t>(config.delta_v_heads * config.delta_v_dim)),
        per_k(static_cast<uint64_t>(config.delta_v_heads / config.delta_k_heads)),
        v_run(per_k * static_cast<uint64_t>(config.delta_v_dim)),
        group(2 * k_dim + 2 * v_run) {}
  uint64_t k_dim, keys, values;
  uint64_t per_k;  // value heads of a key head
  uint64_t v_run;  // their rows
  uint64_t group;  // rows of a key head in Qwen3-Next's fused matrix: q, k, its v, its z
};

TensorForm Rows(std::string name, uint64_t rows, int64_t cols, uint64_t first, uint64_t run = 0,
                uint64_t stride = 0) {
  TensorForm form{std::move(name), {rows, static_cast<uint64_t>(cols)}};
  form.first = first;
  form.run = run;
  form.stride = stride;
  return form;
}

void AddProjections(const Config& config, const Sizes& s, LayerTensors* layer) {
  const int64_t n = config.n_embd;
  const uint64_t all = 2 * s.keys + s.values;
  struct Part {
    const char* name;
    TensorClass kind;
    uint64_t rows;
    uint64_t first;  // in the matrix of q, k and v; z has one of its own
    uint64_t first_in_group;
    uint64_t run;
  };
  const Part parts[] = {
      {"delta.wq", TensorClass::kQ, s.keys, 0, 0, s.k_dim},
      {"delta.wk", TensorClass::kK, s.keys, s.keys, s.k_dim, s.k_dim},
      {"delta.wv", TensorClass::kV, s.values, 2 * s.keys, 2 * s.k_dim, s.v_run},
      {"delta.wz", TensorClass::kV, s.values, 0, 2 * s.k_dim + s.v_run, s.v_run},
  };
  for (const Part& part : parts) {
    TensorSpec& spec = layer->Add(part.name, part.kind, static_cast<int64_t>(part.rows), n);
    const bool alone = part.name == std::string_view("delta.wz");
    spec.hf = {
        Rows(layer->Hf(alone ? "linear_attn.in_proj_z.weight" : "linear_attn.in_proj_qkv.weight"),
             alone ? s.values : all, n, part.first),
        Rows(layer->Hf("linear_attn.in_proj_qkvz.weight"), all + s.values, n, part.first_in_group,
             part.run, s.group)};
    spec.gguf = {Rows(layer->Gguf(alone ? "attn_gate.weight" : "attn_qkv.weight"),
                      alone ? s.values : all, n, part.first)};
  }
}

// What steers: the share of each token in the decay, and in what is written.
void AddControls(const Config& config, const Sizes& s, LayerTensors* layer) {
  const int64_t n = config.n_embd;
  const int64_t heads = config.delta_v_heads;
  for (const bool a : {true, false}) {
    TensorSpec& spec = layer->Add(a ? "delta.wa" : "delta.wb", TensorClass::kControl, heads, n);
    const auto both = [&](std::string name) {  // by key head: b of its value heads, then a
      return Rows(std::move(name), 2 * static_cast<uint64_t>(heads), n, a ? s.per_k : 0, s.per_k,
                  2 * s.per_k);
    };
    spec.hf = {{layer->Hf(a ? "linear_attn.in_proj_a.weight" : "linear_attn.in_proj_b.weight")},
               both(layer->Hf("linear_attn.in_proj_ba.weight"))};
    spec.gguf = {{layer->Gguf(a ? "ssm_alpha.weight" : "ssm_beta.weight")},
                 both(layer->Gguf("ssm_ba.weight"))};
  }
  TensorSpec& a = layer->Add("delta.a", TensorClass::kVector, 0, heads);
  a.hf = {{layer->Hf("linear_attn.A_log")}};
  a.gguf = {{layer->Gguf("ssm_a")}};
  a.hf_derived = Derived::kMinusExp;
  TensorSpec& dt_bias = layer->Add("delta.dt_bias", TensorClass::kVector, 0, heads);
  dt_bias.hf = {{layer->Hf("linear_attn.dt_bias")}};
  dt_bias.gguf = {{layer->Gguf("ssm_dt.bias")}};
}

Status CheckHeads(const Config& config) {
  if (config.delta_k_heads > 0 && config.delta_v_heads % config.delta_k_heads == 0) {
    return OkStatus();
  }
  return FileError("model.delta_v_heads: got {}, want a multiple of delta_k_heads {}",
                   config.delta_v_heads, config.delta_k_heads);
}

// Every `interval`-th layer attends.
Status SetMixers(std::string_view key, int64_t interval, Config* config) {
  if (interval < 1) return FileError("config: {}: got {}, want at least 1", key, interval);
  config->mixers.clear();
  for (int64_t i = 0; i < config->n_layers; ++i) {
    config->mixers.push_back((i + 1) % interval == 0 ? 0 : 1);
  }
  return OkStatus();
}

}  // namespace

void AddDeltaTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  const Sizes s(config);
  layer->Norm("attn_norm", "input_layernorm", "attn_norm", config.n_embd, family.hf_norm_plus_one);
  AddProjections(config, s, layer);
  AddControls(config, s, layer);
  // [channels][taps] there, [taps][channels] here.
  const uint64_t channels = 2 * s.keys + s.values;
  const auto taps = static_cast<uint64_t>(config.delta_taps);
  TensorSpec& conv =
      layer->Add("delta.conv", TensorClass::kVector, 0, static_cast<int64_t>(taps * channels));
  TensorForm form{layer->Hf("linear_attn.conv1d.weight"), {channels, 1, taps}};
  form.run = channels;
  form.stride = 1;
  form.step = taps;
  conv.hf = {form};
  form.name = layer->Gguf("ssm_conv1d.weight");
  form.shape = {channels, taps};
  conv.gguf = {form};
  layer->Norm("delta.norm", "linear_attn.norm", "ssm_norm", config.delta_v_dim, false);
  layer->Add("delta.wo", "linear_attn.out_proj", "ssm_out", TensorClass::kO, config.n_embd,
             static_cast<int64_t>(s.values));
}

Status ReadHfDelta(const KeyValues& values, Config* config) {
  const std::pair<const char*, int64_t*> integers[] = {
      {"linear_num_key_heads", &config->delta_k_heads},
      {"linear_num_value_heads", &config->delta_v_heads},
      {"linear_key_head_dim", &config->delta_k_dim},
      {"linear_value_head_dim", &config->delta_v_dim},
      {"linear_conv_kernel_dim", &config->delta_taps},
  };
  for (const auto& [key, out] : integers) KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, out));
  KRAFLA_RETURN_IF_ERROR(CheckHeads(*config));
  const auto kinds = values.StringList("layer_types");
  if (!kinds) {
    constexpr std::string_view kKey = "full_attention_interval";
    int64_t interval = 4;
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, kKey, &interval));
    return SetMixers(kKey, interval, config);
  }
  config->mixers.clear();
  for (const std::string& kind : *kinds) config->mixers.push_back(kind == "linear_attention");
  return OkStatus();
}

Status ReadGgufDelta(const KeyValues& values, const DecoderFamily& family, Config* config) {
  const auto key = [&](const char* name) { return FormatText("{}.{}", family.gguf(), name); };
  int64_t inner = 0;
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, key("ssm.conv_kernel"), &config->delta_taps));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, key("ssm.state_size"), &config->delta_k_dim));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, key("ssm.group_count"), &config->delta_k_heads));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, key("ssm.time_step_rank"), &config->delta_v_heads));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, key("ssm.inner_size"), &inner));
  KRAFLA_RETURN_IF_ERROR(CheckHeads(*config));
  if (config->delta_v_heads < 1 || inner % config->delta_v_heads != 0) {
    return FileError("config: {}: got {}, want a multiple of {} heads", key("ssm.inner_size"),
                     inner, config->delta_v_heads);
  }
  config->delta_v_dim = inner / config->delta_v_heads;
  int64_t interval = 4;
  const std::string interval_key = key("full_attention_interval");
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, interval_key, &interval));
  return SetMixers(interval_key, interval, config);
}

}  // namespace krafla

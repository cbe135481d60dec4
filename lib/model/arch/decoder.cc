// Tensors and layers of a decoder: names, shapes and steps as its family and its configuration say.
#include "lib/model/arch/decoder.h"

#include <cmath>
#include <string>

#include "lib/model/rope.h"

namespace krafla {
namespace {

// Lists the tensors of one layer. Names without their ends: ".weight", ".bias".
class LayerTensors {
 public:
  LayerTensors(int64_t layer, std::vector<TensorSpec>* specs) : layer_(layer), specs_(specs) {}

  TensorSpec& Add(const char* name, const char* hf, const char* gguf, TensorClass kind,
                  int64_t rows, int64_t cols, const char* end = "weight") {
    TensorSpec& spec = specs_->emplace_back();
    spec.name = FormatText("layers.{}.{}", layer_, name);
    spec.hf_name = FormatText("model.layers.{}.{}.{}", layer_, hf, end);
    spec.gguf_name = FormatText("blk.{}.{}.{}", layer_, gguf, end);
    spec.kind = kind;
    spec.rows = rows;
    spec.cols = cols;
    return spec;
  }
  TensorSpec& Bias(const char* name, const char* hf, const char* gguf, int64_t size) {
    return Add(name, hf, gguf, TensorClass::kVector, 0, size, "bias");
  }
  void Norm(const char* name, const char* hf, const char* gguf, int64_t size, bool plus_one) {
    Add(name, hf, gguf, TensorClass::kVector, 0, size).hf_plus_one = plus_one;
  }
  // Rows of a matrix that holds several of ours.
  void Part(const char* name, const char* hf, const char* gguf, TensorClass kind, int64_t rows,
            int64_t cols, int64_t first_row, int64_t source_rows) {
    TensorSpec& spec = Add(name, hf, gguf, kind, rows, cols);
    spec.first_row = first_row;
    spec.source_rows = source_rows;
  }

 private:
  int64_t layer_;
  std::vector<TensorSpec>* specs_;
};

void AddQkv(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  const int64_t n_q = config.n_heads * config.head_dim;
  const int64_t n_kv = config.n_kv_heads * config.head_dim;
  const int64_t n = config.n_embd;
  if (family.fused) {
    const char* const hf = "self_attn.qkv_proj";
    const int64_t all = n_q + 2 * n_kv;
    layer->Part("wq", hf, "attn_qkv", TensorClass::kQ, n_q, n, 0, all);
    layer->Part("wk", hf, "attn_qkv", TensorClass::kK, n_kv, n, n_q, all);
    layer->Part("wv", hf, "attn_qkv", TensorClass::kV, n_kv, n, n_q + n_kv, all);
    return;
  }
  const int64_t q_heads = family.gguf_permuted ? config.n_heads : 0;
  const int64_t k_heads = family.gguf_permuted ? config.n_kv_heads : 0;
  layer->Add("wq", "self_attn.q_proj", "attn_q", TensorClass::kQ, n_q, n).gguf_permuted_heads =
      q_heads;
  layer->Add("wk", "self_attn.k_proj", "attn_k", TensorClass::kK, n_kv, n).gguf_permuted_heads =
      k_heads;
  layer->Add("wv", "self_attn.v_proj", "attn_v", TensorClass::kV, n_kv, n);
  if (!config.qkv_bias) return;
  layer->Bias("bq", "self_attn.q_proj", "attn_q", n_q).gguf_permuted_heads = q_heads;
  layer->Bias("bk", "self_attn.k_proj", "attn_k", n_kv).gguf_permuted_heads = k_heads;
  layer->Bias("bv", "self_attn.v_proj", "attn_v", n_kv);
}

void AddAttention(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  const int64_t d = config.head_dim;
  const bool plus_one = family.hf_norm_plus_one;
  if (family.norms != NormPlace::kAfter) {
    layer->Norm("attn_norm", "input_layernorm", "attn_norm", config.n_embd, plus_one);
  }
  AddQkv(config, family, layer);
  if (family.qk_norm != QkNorm::kNone) {
    const bool rows = family.qk_norm == QkNorm::kRow;
    layer->Norm("q_norm", "self_attn.q_norm", "attn_q_norm", rows ? config.n_heads * d : d,
                plus_one);
    layer->Norm("k_norm", "self_attn.k_norm", "attn_k_norm", rows ? config.n_kv_heads * d : d,
                plus_one);
  }
  layer->Add("wo", "self_attn.o_proj", "attn_output", TensorClass::kO, config.n_embd,
             config.n_heads * d);
  if (config.o_bias) layer->Bias("bo", "self_attn.o_proj", "attn_output", config.n_embd);
  if (family.norms != NormPlace::kBefore) {
    layer->Norm("attn_post_norm", "post_attention_layernorm", "post_attention_norm", config.n_embd,
                plus_one);
  }
}

void AddFfn(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  const int64_t n = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const bool plus_one = family.hf_norm_plus_one;
  if (family.norms == NormPlace::kBefore) {
    layer->Norm("ffn_norm", "post_attention_layernorm", "ffn_norm", n, plus_one);
  } else if (family.norms == NormPlace::kAround) {
    layer->Norm("ffn_norm", "pre_feedforward_layernorm", "ffn_norm", n, plus_one);
  }
  if (family.fused) {
    const char* const hf = "mlp.gate_up_proj";
    layer->Part("w_gate", hf, "ffn_up", TensorClass::kGate, n_ff, n, 0, 2 * n_ff);
    layer->Part("w_up", hf, "ffn_up", TensorClass::kUp, n_ff, n, n_ff, 2 * n_ff);
  } else {
    layer->Add("w_gate", "mlp.gate_proj", "ffn_gate", TensorClass::kGate, n_ff, n);
    layer->Add("w_up", "mlp.up_proj", "ffn_up", TensorClass::kUp, n_ff, n);
  }
  layer->Add("w_down", "mlp.down_proj", "ffn_down", TensorClass::kDown, n, n_ff);
  if (config.ffn_bias) {
    layer->Bias("b_gate", "mlp.gate_proj", "ffn_gate", n_ff);
    layer->Bias("b_up", "mlp.up_proj", "ffn_up", n_ff);
    layer->Bias("b_down", "mlp.down_proj", "ffn_down", n);
  }
  if (family.norms != NormPlace::kBefore) {
    layer->Norm("ffn_post_norm", "post_feedforward_layernorm", "post_ffw_norm", n, plus_one);
  }
}

AttentionTraits LayerAttention(const Config& config, const DecoderFamily& family, int64_t layer) {
  AttentionTraits traits;
  traits.norms = family.norms;
  traits.qk_norm = family.qk_norm;
  traits.qkv_bias = config.qkv_bias;
  traits.o_bias = config.o_bias;
  traits.rope = config.rope_of(layer);
  traits.window = config.window(layer);
  traits.scale = static_cast<float>(config.attention_scale != 0
                                        ? config.attention_scale
                                        : 1 / std::sqrt(static_cast<double>(config.head_dim)));
  traits.softcap = static_cast<float>(config.attention_softcap);
  traits.residual_scale = static_cast<float>(config.residual_scale);
  return traits;
}

}  // namespace

std::vector<TensorSpec> DecoderTensors(const Config& config, const DecoderFamily& family) {
  std::vector<TensorSpec> specs;
  specs.push_back({"embed", "model.embed_tokens.weight", "token_embd.weight", TensorClass::kEmbed,
                   config.n_vocab, config.n_embd});
  for (int64_t i = 0; i < config.n_layers; ++i) {
    LayerTensors layer(i, &specs);
    AddAttention(config, family, &layer);
    AddFfn(config, family, &layer);
  }
  specs.push_back(
      {"norm", "model.norm.weight", "output_norm.weight", TensorClass::kVector, 0, config.n_embd});
  specs.back().hf_plus_one = family.hf_norm_plus_one;
  if (!config.tied_head) {
    specs.push_back({"head", "lm_head.weight", "output.weight", TensorClass::kHead, config.n_vocab,
                     config.n_embd});
  }
  return specs;
}

StatusOr<std::unique_ptr<Network>> BuildDecoder(const Config& config, const DecoderFamily& family,
                                                const Weights& weights) {
  const NetworkShape shape = DecoderShape(config);
  const auto n_rot = static_cast<size_t>(config.rotated_dims());
  std::vector<RopeTable> ropes = {MakeRopeTable(config.rope, n_rot)};
  if (config.uses_local_rope()) ropes.push_back(MakeRopeTable(config.local_rope, n_rot));
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
    KRAFLA_RETURN_IF_ERROR(builder.AddAttention(prefix, LayerAttention(config, family, i)));
    KRAFLA_RETURN_IF_ERROR(builder.AddGatedFfn(prefix, static_cast<size_t>(config.n_ff), ffn));
  }
  KRAFLA_RETURN_IF_ERROR(builder.AddHead("norm", config.tied_head ? "embed" : "head",
                                         static_cast<float>(config.logit_scale),
                                         static_cast<float>(config.final_softcap)));
  return builder.Finish();
}

}  // namespace krafla

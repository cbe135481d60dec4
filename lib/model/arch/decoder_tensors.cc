// The tensors of a decoder's layer: attention and a gated feed-forward.
#include "lib/model/arch/layer_tensors.h"

namespace krafla {
namespace {

// Runs of `run` rows, of which the tensor has every other one.
void SetInterleaved(int64_t run, int64_t first, TensorSpec* spec) {
  for (auto* forms : {&spec->hf, &spec->gguf}) {
    TensorForm& form = forms->front();
    form.shape = {static_cast<uint64_t>(2 * spec->rows), static_cast<uint64_t>(spec->cols)};
    form.first = static_cast<uint64_t>(first);
    form.run = static_cast<uint64_t>(run);
    form.stride = 2 * form.run;
  }
}

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
  TensorSpec& wq = layer->Add("wq", "self_attn.q_proj", "attn_q", TensorClass::kQ, n_q, n);
  if (config.attention_gate) {  // each head's queries, then its gates
    TensorSpec wg = wq;
    wg.name = FormatText("layers.{}.wg", layer->layer());
    SetInterleaved(config.head_dim, 0, &wq);
    SetInterleaved(config.head_dim, config.head_dim, &wg);
    layer->Append(std::move(wg));
  } else {
    wq.gguf_permuted_heads = q_heads;
  }
  layer->Add("wk", "self_attn.k_proj", "attn_k", TensorClass::kK, n_kv, n).gguf_permuted_heads =
      k_heads;
  layer->Add("wv", "self_attn.v_proj", "attn_v", TensorClass::kV, n_kv, n);
  if (!config.qkv_bias) return;
  layer->Bias("bq", "self_attn.q_proj", "attn_q", n_q).gguf_permuted_heads = q_heads;
  layer->Bias("bk", "self_attn.k_proj", "attn_k", n_kv).gguf_permuted_heads = k_heads;
  layer->Bias("bv", "self_attn.v_proj", "attn_v", n_kv);
}

}  // namespace

void AddAttentionTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
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
  if (family.sinks) {
    TensorSpec& sinks = layer->Add("sinks", TensorClass::kVector, 0, config.n_heads);
    sinks.hf = {{layer->Hf("self_attn.sinks")}};
    sinks.gguf = {{layer->Gguf("attn_sinks.weight")}};
  }
  if (config.o_bias) layer->Bias("bo", "self_attn.o_proj", "attn_output", config.n_embd);
  if (family.norms != NormPlace::kBefore) {
    layer->Norm("attn_post_norm", "post_attention_layernorm", "post_attention_norm", config.n_embd,
                plus_one);
  }
}

// A GGUF calls a norm between the blocks by either's name.
void AddFfnNorm(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  layer
      ->Norm("ffn_norm", "post_attention_layernorm", "ffn_norm", config.n_embd,
             family.hf_norm_plus_one)
      .gguf.push_back({layer->Gguf("post_attention_norm.weight")});
}

void AddFfnTensors(const Config& config, const DecoderFamily& family, LayerTensors* layer) {
  const int64_t n = config.n_embd;
  const int64_t n_ff = config.n_ff;
  const bool plus_one = family.hf_norm_plus_one;
  if (family.norms == NormPlace::kBefore) {
    AddFfnNorm(config, family, layer);
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

}  // namespace krafla

// Llama and what is built like it (Llama 1 to 3, TinyLlama, SmolLM, SmolLM2): pre-norm, grouped
// attention with rotary positions, SiLU-gated feed-forward, no biases.
#include <cmath>
#include <string>

#include "lib/model/arch.h"
#include "lib/model/arch/keys.h"
#include "lib/model/blocks.h"
#include "lib/model/rope.h"

namespace krafla {
namespace {

constexpr std::string_view kHfNames[] = {"LlamaForCausalLM"};
constexpr std::string_view kGgufNames[] = {"llama"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->arch = "llama";
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (values.Bool(key).value_or(false)) {
      return UnsupportedError("config: {}: true is not built here for llama", key);
    }
  }
  const std::string act = values.String("hidden_act").value_or("silu");
  if (act != "silu") return UnsupportedError("config: hidden_act: got {}, want silu", act);
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "hidden_size", &config->n_embd));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "num_hidden_layers", &config->n_layers));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "num_attention_heads", &config->n_heads));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "intermediate_size", &config->n_ff));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "vocab_size", &config->n_vocab));
  config->n_kv_heads = config->n_heads;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "num_key_value_heads", &config->n_kv_heads));
  config->head_dim = config->n_heads > 0 ? config->n_embd / config->n_heads : 0;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "head_dim", &config->head_dim));
  config->max_positions = 2048;  // these two and rope_theta: the defaults of the family's own code
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "max_position_embeddings", &config->max_positions));
  config->norm_eps = 1e-6;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "rms_norm_eps", &config->norm_eps));
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "tie_word_embeddings", &config->tied_head));
  KRAFLA_RETURN_IF_ERROR(ReadHfRope(values, &config->rope));
  return ReadHfTokenIds(values, config);
}

Status GgufHeadSizes(const KeyValues& values, Config* config) {
  config->head_dim = config->n_heads > 0 ? config->n_embd / config->n_heads : 0;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "llama.attention.key_length", &config->head_dim));
  for (const char* key : {"llama.attention.value_length", "llama.rope.dimension_count"}) {
    int64_t size = config->head_dim;
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, &size));
    if (size != config->head_dim) {
      return UnsupportedError("config: {}: got {}, want the head size {}", key, size,
                              config->head_dim);
    }
  }
  return OkStatus();
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->arch = "llama";
  config->name = values.String("general.name").value_or("");
  if (values.Integer("llama.expert_count").value_or(0) > 0) {
    return UnsupportedError("config: llama.expert_count: experts are not built here for llama");
  }
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "llama.embedding_length", &config->n_embd));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "llama.block_count", &config->n_layers));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "llama.attention.head_count", &config->n_heads));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "llama.feed_forward_length", &config->n_ff));
  KRAFLA_RETURN_IF_ERROR(
      RequireNumber(values, "llama.attention.layer_norm_rms_epsilon", &config->norm_eps));
  config->n_kv_heads = config->n_heads;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "llama.attention.head_count_kv", &config->n_kv_heads));
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "llama.context_length", &config->max_positions));
  // The converter's view of a GGUF header gives an array's length under <key>.length.
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "tokenizer.ggml.tokens.length", &config->n_vocab));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "llama.vocab_size", &config->n_vocab));
  if (config->n_vocab == 0) return FileError("config: llama.vocab_size: absent");
  KRAFLA_RETURN_IF_ERROR(GgufHeadSizes(values, config));
  KRAFLA_RETURN_IF_ERROR(ReadGgufRope(values, "llama", &config->rope));
  return ReadGgufTokenIds(values, config);
}

void AddLayer(const Config& config, int64_t i, std::vector<TensorSpec>* specs) {
  const int64_t n_q = config.n_heads * config.head_dim;
  const int64_t n_kv = config.n_kv_heads * config.head_dim;
  const auto add = [&](const char* name, const char* hf, const char* gguf, TensorClass kind,
                       int64_t rows, int64_t cols, int64_t permuted_heads = 0) {
    specs->push_back({FormatText("layers.{}.{}", i, name),
                      FormatText("model.layers.{}.{}.weight", i, hf),
                      FormatText("blk.{}.{}.weight", i, gguf), kind, rows, cols, permuted_heads});
  };
  add("attn_norm", "input_layernorm", "attn_norm", TensorClass::kVector, 0, config.n_embd);
  add("wq", "self_attn.q_proj", "attn_q", TensorClass::kQ, n_q, config.n_embd, config.n_heads);
  add("wk", "self_attn.k_proj", "attn_k", TensorClass::kK, n_kv, config.n_embd, config.n_kv_heads);
  add("wv", "self_attn.v_proj", "attn_v", TensorClass::kV, n_kv, config.n_embd);
  add("wo", "self_attn.o_proj", "attn_output", TensorClass::kO, config.n_embd, n_q);
  add("ffn_norm", "post_attention_layernorm", "ffn_norm", TensorClass::kVector, 0, config.n_embd);
  add("w_gate", "mlp.gate_proj", "ffn_gate", TensorClass::kGate, config.n_ff, config.n_embd);
  add("w_up", "mlp.up_proj", "ffn_up", TensorClass::kUp, config.n_ff, config.n_embd);
  add("w_down", "mlp.down_proj", "ffn_down", TensorClass::kDown, config.n_embd, config.n_ff);
}

std::vector<TensorSpec> Tensors(const Config& config) {
  std::vector<TensorSpec> specs;
  specs.push_back({"embed", "model.embed_tokens.weight", "token_embd.weight", TensorClass::kEmbed,
                   config.n_vocab, config.n_embd, 0});
  for (int64_t i = 0; i < config.n_layers; ++i) AddLayer(config, i, &specs);
  specs.push_back({"norm", "model.norm.weight", "output_norm.weight", TensorClass::kVector, 0,
                   config.n_embd, 0});
  if (!config.tied_head) {
    specs.push_back({"head", "lm_head.weight", "output.weight", TensorClass::kHead, config.n_vocab,
                     config.n_embd, 0});
  }
  return specs;
}

StatusOr<std::unique_ptr<Network>> Build(const Config& config, const Weights& weights) {
  const NetworkShape shape = DecoderShape(config);
  const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.head_dim)));
  NetworkBuilder builder(weights, shape, config.norm_eps);
  KRAFLA_RETURN_IF_ERROR(builder.AddEmbed("embed", RopeFrequencies(config.rope, shape.n_rot)));
  for (int64_t i = 0; i < config.n_layers; ++i) {
    const std::string prefix = FormatText("layers.{}.", i);
    builder.BeginLayer();
    KRAFLA_RETURN_IF_ERROR(builder.AddAttention(prefix, scale));
    KRAFLA_RETURN_IF_ERROR(builder.AddGatedFfn(prefix, static_cast<size_t>(config.n_ff)));
  }
  KRAFLA_RETURN_IF_ERROR(builder.AddHead("norm", config.tied_head ? "embed" : "head"));
  return builder.Finish();
}

}  // namespace

extern const Arch kLlamaArch;
const Arch kLlamaArch = {"llama",        kHfNames, kGgufNames,   ConfigFromHf,
                         ConfigFromGguf, Tensors,  DecoderShape, Build};

}  // namespace krafla

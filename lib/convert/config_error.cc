// A field that the table lacks keeps the name that our files give it.
#include "lib/convert/config_error.h"

#include <string>

namespace krafla {
namespace {

struct FieldName {
  std::string_view ours;
  std::string_view hf;
  std::string_view gguf;  // after "<architecture>.", unless it starts with "tokenizer."
};
constexpr FieldName kNames[] = {
    {"model.n_layers", "num_hidden_layers", "block_count"},
    {"model.n_embd", "hidden_size", "embedding_length"},
    {"model.n_heads", "num_attention_heads", "attention.head_count"},
    {"model.n_kv_heads", "num_key_value_heads", "attention.head_count_kv"},
    {"model.head_dim", "head_dim", "attention.key_length"},
    {"model.n_ff", "intermediate_size", "feed_forward_length"},
    {"model.n_vocab", "vocab_size", "vocab_size"},
    {"model.n_experts", "", "expert_count"},  // families have several names for it
    {"model.n_experts_used", "num_experts_per_tok", "expert_used_count"},
    {"model.n_ff_expert", "moe_intermediate_size", "expert_feed_forward_length"},
    {"model.n_ff_shared", "shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"model.max_positions", "max_position_embeddings", "context_length"},
    {"model.norm_eps", "rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"model.rope.theta", "rope_theta", "rope.freq_base"},
    {"model.rope.kind", "rope_type", "rope.scaling.type"},
    {"model.rope.factor", "rope_scaling.factor", "rope.scaling.factor"},
    {"model.rope.low_freq_factor", "rope_scaling.low_freq_factor", "rope.scaling.low_freq_factor"},
    {"model.rope.high_freq_factor", "rope_scaling.high_freq_factor",
     "rope.scaling.high_freq_factor"},
    {"model.rope.original_max_positions", "original_max_position_embeddings",
     "rope.scaling.original_context_length"},
    {"model.bos_id", "bos_token_id", "tokenizer.ggml.bos_token_id"},
    {"model.end_ids", "eos_token_id", "tokenizer.ggml.eos_token_id"},
};

}  // namespace

Status InConfigFile(const Status& status, std::string_view path, bool gguf,
                    std::string_view gguf_arch) {
  if (status.ok() || Message(status).starts_with(path)) return status;
  constexpr std::string_view kConfig = "config: ";
  std::string_view message = Message(status);
  if (message.starts_with(kConfig)) message.remove_prefix(kConfig.size());
  const std::string_view field = message.substr(0, message.find(':'));
  for (const FieldName& row : kNames) {
    if (row.ours != field || (gguf ? row.gguf : row.hf).empty()) continue;
    const bool prefixed = gguf && !row.gguf.starts_with("tokenizer.");
    return Status(status.code(),
                  FormatText("{}: {}{}{}{}", path, prefixed ? gguf_arch : "", prefixed ? "." : "",
                             gguf ? row.gguf : row.hf, message.substr(field.size())));
  }
  return Status(status.code(), FormatText("{}: {}", path, message));
}

}  // namespace krafla

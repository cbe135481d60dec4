// A quarter of each head rotates; the sections of a multimodal rope say nothing about text, where
// all of them count the same position.
#include "lib/model/arch/qwen3_hybrid.h"

#include "lib/model/arch/keys.h"

namespace krafla {

Status ReadHfHybrid(const KeyValues& values, const DecoderFamily& family, Config* config) {
  config->head_dim = 256;
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  config->attention_gate = true;
  config->delta_k_heads = 16;
  config->delta_v_heads = 32;
  config->delta_k_dim = 128;
  config->delta_v_dim = 128;
  config->delta_taps = 4;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, family, config));
  if (config->qkv_bias) {
    return UnsupportedError("config: attention_bias is not built here for {}", family.name);
  }
  return ReadHfDelta(values, config);
}

Status ReadGgufHybrid(const KeyValues& values, const DecoderFamily& family, Config* config) {
  config->attention_gate = true;
  // Some headers of mixtures have no feed-forward size beside the experts'.
  KRAFLA_RETURN_IF_ERROR(ReadInteger(
      values, FormatText("{}.expert_feed_forward_length", family.gguf()), &config->n_ff));
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, family, config));
  KRAFLA_RETURN_IF_ERROR(ReadGgufDelta(values, family, config));
  return family.experts ? ReadGgufExperts(values, family, config) : OkStatus();
}

}  // namespace krafla

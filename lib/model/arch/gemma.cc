// Hugging Face's defaults of the two families, which are those of Gemma 2's 2B model.
#include "lib/model/arch/gemma.h"

#include <cmath>

#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

void SetEmbedScale(Config* config) {
  config->embed_scale = std::sqrt(static_cast<double>(config->n_embd));
}

}  // namespace

void SetGemmaDefaults(Config* config) {
  config->n_embd = 2304;
  config->n_ff = 9216;
  config->n_layers = 26;
  config->n_heads = 8;
  config->n_kv_heads = 4;
  config->head_dim = 256;
  config->norm_eps = 1e-6;
  config->tied_head = true;
  config->bos_id = 2;
  config->end_ids = {1};
}

Status ReadHfGemmaScales(const KeyValues& values, Config* config) {
  double query_scalar = 256;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "query_pre_attn_scalar", &query_scalar));
  config->attention_scale = 1 / std::sqrt(query_scalar);
  SetEmbedScale(config);
  return OkStatus();
}

void SetGgufGemmaScales(int64_t layers_of_27b, Config* config) {
  SetEmbedScale(config);
  if (config->n_layers != layers_of_27b || config->n_heads <= 0) return;
  config->attention_scale =
      1 / std::sqrt(static_cast<double>(config->n_embd) / static_cast<double>(config->n_heads));
}

}  // namespace krafla

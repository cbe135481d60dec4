// Granite 3, dense: Llama with four constants, on embeddings, scores, residuals and logits.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "granite", .gguf_permuted = true};
constexpr std::string_view kHfNames[] = {"GraniteForCausalLM"};
constexpr std::string_view kGgufNames[] = {"granite"};

Status ReadScales(const KeyValues& values, const char* embed, const char* attention,
                  const char* residual, const char* logits, Config* config) {
  double divisor = 1;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, embed, &config->embed_scale));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, attention, &config->attention_scale));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, residual, &config->residual_scale));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, logits, &divisor));
  if (divisor == 0) return FileError("config: {}: got 0, want a number that is not 0", logits);
  config->logit_scale = 1 / divisor;
  return OkStatus();
}

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 2048;
  config->norm_eps = 1e-6;
  config->attention_scale = 1;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadScales(values, "embedding_multiplier", "attention_multiplier",
                                    "residual_multiplier", "logits_scaling", config));
  if (config->attention_scale != 0) return OkStatus();  // 0 would stand for 1 / sqrt(head_dim)
  return FileError("config: attention_multiplier: got 0, want a number that is not 0");
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  return ReadScales(values, "granite.embedding_scale", "granite.attention.scale",
                    "granite.residual_scale", "granite.logit_scale", config);
}

}  // namespace

extern const Arch kGraniteArch;
const Arch kGraniteArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Qwen 3.5 and 3.6, mixture of experts: the dense model's layers with experts and a shared one.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/qwen3_hybrid.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen3_5_moe",
                                   .gguf_name = "qwen35moe",
                                   .qk_norm = QkNorm::kHead,
                                   .hf_norm_plus_one = true,
                                   .partial_rotary = true,
                                   .rotated = 0.25,
                                   .delta = true,
                                   .experts = true};
constexpr std::string_view kHfNames[] = {"Qwen3_5MoeForCausalLM",
                                         "Qwen3_5MoeForConditionalGeneration"};
constexpr std::string_view kGgufNames[] = {"qwen35moe"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->n_experts = 256;
  config->n_experts_used = 8;
  config->n_ff_expert = 512;
  config->n_ff_shared = 512;
  config->n_ff = 512;  // no layer is dense
  KRAFLA_RETURN_IF_ERROR(ReadHfHybrid(values, kFamily, config));
  return ReadHfExperts(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->delta_tiled = true;
  return ReadGgufHybrid(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen35MoeArch;
const Arch kQwen35MoeArch =
    DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

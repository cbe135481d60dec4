// Qwen 3, mixture of experts: Qwen 3 with experts in place of the feed-forward, in all layers or in
// those that the configuration does not list as dense.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {
    .name = "qwen3_moe", .gguf_name = "qwen3moe", .qk_norm = QkNorm::kHead, .experts = true};
constexpr std::string_view kHfNames[] = {"Qwen3MoeForCausalLM"};
constexpr std::string_view kGgufNames[] = {"qwen3moe"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  config->n_kv_heads = 4;
  config->n_experts = 128;
  config->n_experts_used = 8;
  config->n_ff_expert = 768;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadHfExperts(values, config));
  return ReadQwenWindows(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  return ReadGgufExperts(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen3MoeArch;
const Arch kQwen3MoeArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Qwen 1.5 and 2, mixture of experts: Qwen 2's attention, experts beside a large shared one; the
// weights of a token's experts do not sum to 1.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen2_moe", .gguf_name = "qwen2moe", .experts = true};
constexpr std::string_view kHfNames[] = {"Qwen2MoeForCausalLM"};
constexpr std::string_view kGgufNames[] = {"qwen2moe"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  config->n_experts = 60;
  config->n_experts_used = 4;
  config->n_ff_expert = 1408;
  config->n_ff_shared = 5632;
  config->norm_topk = false;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadHfExperts(values, config));
  config->qkv_bias = true;
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "qkv_bias", &config->qkv_bias));
  config->o_bias = false;
  return ReadQwenWindows(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->norm_topk = false;
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  return ReadGgufExperts(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen2MoeArch;
const Arch kQwen2MoeArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Mixtral: Mistral with eight experts, of which a token uses two. A GGUF of it is one of Llama's.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "mixtral", .experts = true};
constexpr std::string_view kHfNames[] = {"MixtralForCausalLM"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 131072;
  config->n_kv_heads = 8;
  config->rope.theta = 1e6;
  config->n_experts = 8;
  config->n_experts_used = 2;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadHfExperts(values, config));
  config->n_ff_expert = config->n_ff;
  int64_t window = 0;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  return ReadHfWindows(values, window, EveryLayer, 0, config);
}

}  // namespace

extern const Arch kMixtralArch;
const Arch kMixtralArch = DecoderArch<kFamily>(kHfNames, {}, ConfigFromHf, nullptr);

}  // namespace krafla

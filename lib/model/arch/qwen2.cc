// Qwen 2 and 2.5: Llama with biases on queries, keys and values; some models have sliding windows
// in their upper layers.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen2"};
constexpr std::string_view kHfNames[] = {"Qwen2ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"qwen2"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  config->qkv_bias = true;
  config->o_bias = false;
  return ReadQwenWindows(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->qkv_bias = true;
  return ReadGgufDecoder(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen2Arch;
const Arch kQwen2Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

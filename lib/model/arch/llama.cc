// Llama and what is built like it (Llama 1 to 3, TinyLlama, SmolLM, SmolLM2): pre-norm, grouped
// attention with rotary positions, SiLU-gated feed-forward; biases where the configuration says so.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "llama", .gguf_permuted = true, .experts = true};
constexpr std::string_view kHfNames[] = {"LlamaForCausalLM"};
constexpr std::string_view kGgufNames[] = {"llama"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 2048;
  config->norm_eps = 1e-6;
  return ReadHfDecoder(values, kFamily, config);
}

// Mistral's and Mixtral's models are "llama" in GGUF files.
Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadGgufExperts(values, kFamily, config));
  return ReadGgufWindows(values, 0, EveryLayer, 0, config);
}

}  // namespace

extern const Arch kLlamaArch;
const Arch kLlamaArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Llama and what is built like it (Llama 1 to 3, TinyLlama, SmolLM, SmolLM2): pre-norm, grouped
// attention with rotary positions, SiLU-gated feed-forward; biases where the configuration says so.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "llama", .gguf_permuted = true};
constexpr std::string_view kHfNames[] = {"LlamaForCausalLM"};
constexpr std::string_view kGgufNames[] = {"llama"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 2048;
  config->norm_eps = 1e-6;
  return ReadHfDecoder(values, kFamily, config);
}

// Mistral's models are "llama" in GGUF files.
Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  int64_t window = 0;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "llama.attention.sliding_window", &window));
  SetWindows(window, EveryLayer, 0, config);
  return OkStatus();
}

}  // namespace

extern const Arch kLlamaArch;
const Arch kLlamaArch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

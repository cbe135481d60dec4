// Mistral: Llama with a sliding window in every layer, which later models set to null. In GGUF
// files it is "llama".
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "mistral"};
constexpr std::string_view kHfNames[] = {"MistralForCausalLM"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->n_kv_heads = 8;
  config->max_positions = 131072;
  config->norm_eps = 1e-6;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  int64_t window = 4096;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  SetWindows(window, EveryLayer, 0, config);
  return OkStatus();
}

}  // namespace

extern const Arch kMistralArch;
const Arch kMistralArch = DecoderArch<kFamily>(kHfNames, {}, ConfigFromHf, nullptr);

}  // namespace krafla

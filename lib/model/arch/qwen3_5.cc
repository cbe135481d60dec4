// Qwen 3.5 and 3.6, dense: three gated delta nets to one layer of gated attention.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/qwen3_hybrid.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen3_5",
                                   .gguf_name = "qwen35",
                                   .qk_norm = QkNorm::kHead,
                                   .hf_norm_plus_one = true,
                                   .partial_rotary = true,
                                   .rotated = 0.25,
                                   .delta = true};
constexpr std::string_view kHfNames[] = {"Qwen3_5ForCausalLM", "Qwen3_5ForConditionalGeneration"};
constexpr std::string_view kGgufNames[] = {"qwen35"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  return ReadHfHybrid(values, kFamily, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->delta_tiled = true;
  return ReadGgufHybrid(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen35Arch;
const Arch kQwen35Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

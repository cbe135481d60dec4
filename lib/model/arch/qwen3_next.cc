// Qwen3-Next: three gated delta nets to one layer of gated attention, each followed by a mixture of
// experts with a shared one.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/qwen3_hybrid.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen3_next",
                                   .gguf_name = "qwen3next",
                                   .qk_norm = QkNorm::kHead,
                                   .hf_norm_plus_one = true,
                                   .partial_rotary = true,
                                   .rotated = 0.25,
                                   .delta = true,
                                   .experts = true};
constexpr std::string_view kHfNames[] = {"Qwen3NextForCausalLM"};
constexpr std::string_view kGgufNames[] = {"qwen3next"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->n_experts = 512;
  config->n_experts_used = 10;
  config->n_ff_expert = 512;
  config->n_ff_shared = 512;
  config->n_ff = 5632;
  KRAFLA_RETURN_IF_ERROR(ReadHfHybrid(values, kFamily, config));
  return ReadHfExperts(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  return ReadGgufHybrid(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen3NextArch;
const Arch kQwen3NextArch =
    DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Phi-3, Phi-3.5 and Phi-4-mini: Llama with q, k, v and gate, up each in one matrix of the
// checkpoint, a rope over a part of each head, and longrope for the long contexts.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "phi3", .fused = true, .partial_rotary = true};
constexpr std::string_view kHfNames[] = {"Phi3ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"phi3"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 4096;
  config->rope.original_max_positions = 4096;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  RopeConfig& rope = config->rope;
  if (rope.kind == "yarn") {  // what some of these files call longrope
    rope.kind = "longrope";
    rope.attention_factor = DefaultAttentionFactor(rope, config->max_positions);
  }
  int64_t window = 0;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  SetWindows(window, EveryLayer, 0, config);
  return OkStatus();
}

// The importer finds longrope's factors among the tensors.
Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  return ReadGgufWindows(values, 0, EveryLayer, 0, config);
}

}  // namespace

extern const Arch kPhi3Arch;
const Arch kPhi3Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

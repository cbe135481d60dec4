// Gemma 3, text: norms around each block and of queries and keys, GELU, scaled embeddings; every
// sixth layer sees all, the others have a window and a rope of their own. Published configurations
// leave out what the family's defaults say.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/gemma.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "gemma3",
                                   .norms = NormPlace::kAround,
                                   .qk_norm = QkNorm::kHead,
                                   .activation = Activation::kGeluTanh,
                                   .hf_norm_plus_one = true};
constexpr std::string_view kHfNames[] = {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"};
constexpr std::string_view kGgufNames[] = {"gemma3"};
constexpr int64_t kPeriod = 6;
constexpr int64_t kLayersOf27B = 62;

Status CheckPeriod(std::string_view key, int64_t period) {
  if (period >= 1) return OkStatus();
  return FileError("config: {}: got {}, want at least 1", key, period);
}

// Layers with a window turn by local_rope.
void SetLocalRopes(Config* config) {
  config->ropes.clear();
  for (const int64_t window : config->windows) config->ropes.push_back(window > 0 ? 1 : 0);
}

Status ReadRopes(const KeyValues& values, Config* config) {
  double rotated = 1;
  KRAFLA_RETURN_IF_ERROR(ReadHfRope(values, "rope_parameters.full_attention", config->max_positions,
                                    &config->rope, &rotated));
  RopeConfig& local = config->local_rope;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "rope_local_base_freq", &local.theta));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, "rope_parameters.sliding_attention.rope_theta", &local.theta));
  std::string kind = "default";
  KRAFLA_RETURN_IF_ERROR(ReadString(values, "rope_parameters.sliding_attention.rope_type", &kind));
  if (kind != "default") {
    return UnsupportedError("config: rope_parameters.sliding_attention: {} is not built here",
                            kind);
  }
  return OkStatus();
}

Status ConfigFromHf(const KeyValues& values, Config* config) {
  SetGemmaDefaults(config);
  config->n_vocab = 262208;
  config->max_positions = 131072;
  config->rope.theta = 1e6;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadRopes(values, config));
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (values.HasValue(key))
      return UnsupportedError("config: {} is not built here for gemma3", key);
  }
  bool bidirectional = false;
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "use_bidirectional_attention", &bidirectional));
  if (bidirectional) {
    return UnsupportedError("config: use_bidirectional_attention is not built here");
  }
  KRAFLA_RETURN_IF_ERROR(ReadHfGemmaScales(values, config));
  int64_t window = 4096;
  int64_t period = kPeriod;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "_sliding_window_pattern", &period));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "sliding_window_pattern", &period));
  KRAFLA_RETURN_IF_ERROR(CheckPeriod("sliding_window_pattern", period));
  KRAFLA_RETURN_IF_ERROR(ReadHfWindows(values, window, AllButEveryNth, period, config));
  SetLocalRopes(config);
  return OkStatus();
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  config->rope.theta = 1e6;
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, "gemma3.rope.freq_base_swa", &config->local_rope.theta));
  SetGgufGemmaScales(kLayersOf27B, config);
  int64_t window = 0;
  int64_t period = kPeriod;
  KRAFLA_RETURN_IF_ERROR(RequireInteger(values, "gemma3.attention.sliding_window", &window));
  constexpr std::string_view kPeriodKey = "gemma3.attention.sliding_window_pattern";
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, kPeriodKey, &period));
  KRAFLA_RETURN_IF_ERROR(CheckPeriod(kPeriodKey, period));
  SetWindows(window, AllButEveryNth, period, config);
  SetLocalRopes(config);
  return OkStatus();
}

}  // namespace

extern const Arch kGemma3Arch;
const Arch kGemma3Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Gemma 2: norms around each block, GELU, scaled embeddings, soft caps on scores and logits, a
// sliding window in every other layer.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/gemma.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "gemma2",
                                   .norms = NormPlace::kAround,
                                   .activation = Activation::kGeluTanh,
                                   .hf_norm_plus_one = true};
constexpr std::string_view kHfNames[] = {"Gemma2ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"gemma2"};
constexpr int64_t kPeriod = 2;
constexpr int64_t kLayersOf27B = 46;

// null: none.
Status ReadSoftcap(const KeyValues& values, std::string_view key, double* softcap) {
  if (values.Has(key)) *softcap = 0;
  return ReadNumber(values, key, softcap);
}

Status ConfigFromHf(const KeyValues& values, Config* config) {
  SetGemmaDefaults(config);
  config->n_vocab = 256000;
  config->max_positions = 8192;
  config->attention_softcap = 50;
  config->final_softcap = 30;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadSoftcap(values, "attn_logit_softcapping", &config->attention_softcap));
  KRAFLA_RETURN_IF_ERROR(ReadSoftcap(values, "final_logit_softcapping", &config->final_softcap));
  KRAFLA_RETURN_IF_ERROR(ReadHfGemmaScales(values, config));
  int64_t window = 4096;
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  return ReadHfWindows(values, window, AllButEveryNth, kPeriod, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, "gemma2.attn_logit_softcapping", &config->attention_softcap));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, "gemma2.final_logit_softcapping", &config->final_softcap));
  SetGgufGemmaScales(kLayersOf27B, config);
  return ReadGgufWindows(values, 4096, AllButEveryNth, kPeriod, config);
}

}  // namespace

extern const Arch kGemma2Arch;
const Arch kGemma2Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

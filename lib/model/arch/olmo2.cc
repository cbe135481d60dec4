// OLMo 2: norms of what each block adds instead of what it reads, and of all queries and all keys
// of a token as one row each.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {
    .name = "olmo2", .norms = NormPlace::kAfter, .qk_norm = QkNorm::kRow};
constexpr std::string_view kHfNames[] = {"Olmo2ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"olmo2"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->max_positions = 2048;
  return ReadHfDecoder(values, kFamily, config);
}

// OLMo 3 has the same name there, and windows.
Status ConfigFromGguf(const KeyValues& values, Config* config) {
  if (values.Has("olmo2.attention.sliding_window")) {
    return UnsupportedError("config: olmo2.attention.sliding_window: OLMo 3 is not built here");
  }
  return ReadGgufDecoder(values, kFamily, config);
}

}  // namespace

extern const Arch kOlmo2Arch;
const Arch kOlmo2Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// Qwen 3, dense: heads of a size of their own, queries and keys normalised head by head.
#include "lib/model/arch/decoder.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "qwen3", .qk_norm = QkNorm::kHead};
constexpr std::string_view kHfNames[] = {"Qwen3ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"qwen3"};

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->head_dim = 128;
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  return ReadQwenWindows(values, config);
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  return ReadGgufDecoder(values, kFamily, config);
}

}  // namespace

extern const Arch kQwen3Arch;
const Arch kQwen3Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

// SmolLM3: Llama in which every fourth layer does not rotate queries and keys.
#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr DecoderFamily kFamily = {.name = "smollm3", .gguf_permuted = true};
constexpr std::string_view kHfNames[] = {"SmolLM3ForCausalLM"};
constexpr std::string_view kGgufNames[] = {"smollm3"};
constexpr int64_t kInterval = 4;

void SetRopes(int64_t interval, Config* config) {
  config->ropes.clear();
  for (int64_t i = 0; i < config->n_layers; ++i) {
    config->ropes.push_back(AllButEveryNth(i, interval) ? 0 : -1);
  }
}

// no_rope_layers says the opposite of its name: 1 where a layer rotates.
Status ReadRopes(const KeyValues& values, Config* config) {
  const auto rotates = values.Numbers("no_rope_layers");
  if (!rotates) {
    if (values.HasValue("no_rope_layers")) {
      return FileError("config: no_rope_layers: of another kind, want a list of numbers");
    }
    int64_t interval = kInterval;
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "no_rope_layer_interval", &interval));
    if (interval < 1) {
      return FileError("config: no_rope_layer_interval: got {}, want at least 1", interval);
    }
    SetRopes(interval, config);
    return OkStatus();
  }
  if (rotates->size() != static_cast<size_t>(config->n_layers)) {
    return FileError("config: no_rope_layers: got {} entries, want num_hidden_layers {}",
                     rotates->size(), config->n_layers);
  }
  config->ropes.clear();
  for (const double value : *rotates) config->ropes.push_back(value != 0 ? 0 : -1);
  return OkStatus();
}

Status ConfigFromHf(const KeyValues& values, Config* config) {
  config->n_kv_heads = 4;
  config->max_positions = 32768;
  config->norm_eps = 1e-6;
  config->rope.theta = 2e6;
  config->tied_head = true;
  KRAFLA_RETURN_IF_ERROR(ReadHfDecoder(values, kFamily, config));
  KRAFLA_RETURN_IF_ERROR(ReadRopes(values, config));
  bool windows = false;
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "use_sliding_window", &windows));
  if (windows) return UnsupportedError("config: use_sliding_window is not built here for smollm3");
  return OkStatus();
}

Status ConfigFromGguf(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadGgufDecoder(values, kFamily, config));
  SetRopes(kInterval, config);
  return OkStatus();
}

}  // namespace

extern const Arch kSmolLm3Arch;
const Arch kSmolLm3Arch = DecoderArch<kFamily>(kHfNames, kGgufNames, ConfigFromHf, ConfigFromGguf);

}  // namespace krafla

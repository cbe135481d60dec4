// Configurations of decoders: the keys that the families share in config.json and in GGUF headers.
#include <algorithm>
#include <string>
#include <utility>

#include "lib/model/arch/decoder.h"
#include "lib/model/arch/keys.h"

namespace krafla {
namespace {

constexpr int64_t kMostLayers = 4096;

// Lists by layer are made before ValidateConfig sees the rest.
Status CheckLayers(const Config& config) {
  if (config.n_layers >= 1 && config.n_layers <= kMostLayers) return OkStatus();
  return FileError("model.n_layers: got {}, want 1 to {}", config.n_layers, kMostLayers);
}

Status CheckActivation(const KeyValues& values, const DecoderFamily& family) {
  const std::string_view want =
      family.activation == Activation::kSilu ? "silu" : "gelu_pytorch_tanh";
  // Gemma 2 and 3 have both keys; there the second one counts.
  std::string key = "hidden_act";
  if (values.HasValue("hidden_activation")) key = "hidden_activation";
  std::string got(want);
  KRAFLA_RETURN_IF_ERROR(ReadString(values, key, &got));
  if (got != want) return UnsupportedError("config: {}: got {}, want {}", key, got, want);
  return OkStatus();
}

Status ReadSizes(const KeyValues& values, std::span<const std::pair<std::string, int64_t*>> sizes) {
  for (const auto& [key, out] : sizes) {
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, out));
    if (*out == 0 && !values.Integer(key)) {
      return FileError("config: {}: absent, want an integer", key);
    }
  }
  return OkStatus();
}

// Also where no layer has a window: a list that does not fit tells of another model.
Status CheckLayerTypes(const KeyValues& values, const DecoderFamily& family, const Config& config) {
  const auto kinds = values.StringList("layer_types");
  if (!kinds) {
    if (!values.HasValue("layer_types")) return OkStatus();
    return FileError("config: layer_types: of another kind, want a list of strings");
  }
  if (kinds->size() != static_cast<size_t>(config.n_layers)) {
    return FileError("config: layer_types: got {} entries, want num_hidden_layers {}",
                     kinds->size(), config.n_layers);
  }
  for (const std::string& kind : *kinds) {
    if (kind == "sliding_attention" || kind == "full_attention") continue;
    if (kind == "linear_attention" && family.delta) continue;
    return UnsupportedError("config: layer_types: {} is not built here for {}", kind, config.arch);
  }
  return OkStatus();
}

// What follows from the sizes where neither the checkpoint nor the family says otherwise.
void SetHeadDefaults(Config* config) {
  if (config->n_kv_heads == 0) config->n_kv_heads = config->n_heads;
  if (config->head_dim == 0 && config->n_heads > 0) {
    config->head_dim = config->n_embd / config->n_heads;
  }
}

Status SetRotated(double rotated, const DecoderFamily& family, Config* config) {
  if (rotated == 1) return OkStatus();
  if (!family.partial_rotary || !(rotated > 0 && rotated < 1)) {
    return UnsupportedError("config: partial_rotary_factor: {} is not built here for {}", rotated,
                            family.name);
  }
  config->n_rot = static_cast<int64_t>(static_cast<double>(config->head_dim) * rotated);
  if (config->n_rot > 0) return OkStatus();  // 0 would stand for all of them
  return FileError("config: partial_rotary_factor: {} of head_dim {} rotates nothing", rotated,
                   config->head_dim);
}

void StoreWindows(std::vector<int64_t> windows, Config* config) {
  const bool none = std::all_of(windows.begin(), windows.end(), [](int64_t w) { return w == 0; });
  config->windows = none ? std::vector<int64_t>() : std::move(windows);
}

}  // namespace

Status ReadHfDecoder(const KeyValues& values, const DecoderFamily& family, Config* config) {
  config->arch = family.name;
  KRAFLA_RETURN_IF_ERROR(CheckActivation(values, family));
  const std::pair<std::string, int64_t*> sizes[] = {
      {"hidden_size", &config->n_embd},
      {"num_hidden_layers", &config->n_layers},
      {"num_attention_heads", &config->n_heads},
      {"intermediate_size", &config->n_ff},
      {"vocab_size", &config->n_vocab},
      {"max_position_embeddings", &config->max_positions},
  };
  KRAFLA_RETURN_IF_ERROR(ReadSizes(values, sizes));
  KRAFLA_RETURN_IF_ERROR(CheckLayers(*config));
  KRAFLA_RETURN_IF_ERROR(CheckLayerTypes(values, family, *config));
  SetHeadDefaults(config);
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "num_key_value_heads", &config->n_kv_heads));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "head_dim", &config->head_dim));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "rms_norm_eps", &config->norm_eps));
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "tie_word_embeddings", &config->tied_head));
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "attention_bias", &config->qkv_bias));
  config->o_bias = config->qkv_bias;
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "mlp_bias", &config->ffn_bias));
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_modules"}) {
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, &config->n_draft_layers));
  }
  double rotated = family.rotated;
  KRAFLA_RETURN_IF_ERROR(
      ReadHfRope(values, "rope_parameters", config->max_positions, &config->rope, &rotated));
  KRAFLA_RETURN_IF_ERROR(SetRotated(rotated, family, config));
  return ReadHfTokenIds(values, config);
}

Status ReadGgufDecoder(const KeyValues& values, const DecoderFamily& family, Config* config) {
  const auto key = [&](const char* name) { return FormatText("{}.{}", family.gguf(), name); };
  config->arch = family.name;
  config->name = values.String("general.name").value_or("");
  if (!family.experts && values.Integer(key("expert_count")).value_or(0) > 0) {
    return UnsupportedError("config: {}: experts are not built here for {}", key("expert_count"),
                            family.name);
  }
  const std::pair<std::string, int64_t*> sizes[] = {
      {key("embedding_length"), &config->n_embd},      {key("block_count"), &config->n_layers},
      {key("attention.head_count"), &config->n_heads}, {key("feed_forward_length"), &config->n_ff},
      {key("context_length"), &config->max_positions},
  };
  KRAFLA_RETURN_IF_ERROR(ReadSizes(values, sizes));
  int64_t draft = 0;  // they are counted
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("nextn_predict_layers"), &draft));
  if (draft < 0 || draft > config->n_layers) {
    return FileError("config: {}: got {}, want 0 to {}", key("nextn_predict_layers"), draft,
                     config->n_layers);
  }
  config->n_layers -= draft;
  config->n_draft_layers = draft;
  KRAFLA_RETURN_IF_ERROR(CheckLayers(*config));
  KRAFLA_RETURN_IF_ERROR(
      RequireNumber(values, key("attention.layer_norm_rms_epsilon"), &config->norm_eps));
  SetHeadDefaults(config);
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("attention.head_count_kv"), &config->n_kv_heads));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("attention.key_length"), &config->head_dim));
  int64_t value_length = config->head_dim;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("attention.value_length"), &value_length));
  if (value_length != config->head_dim) {
    return UnsupportedError("config: {}: got {}, want the head size {}",
                            key("attention.value_length"), value_length, config->head_dim);
  }
  int64_t n_rot = config->head_dim;
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("rope.dimension_count"), &n_rot));
  if (n_rot != config->head_dim) {
    if (!family.partial_rotary) {
      return UnsupportedError("config: {}: got {}, want the head size {}",
                              key("rope.dimension_count"), n_rot, config->head_dim);
    }
    config->n_rot = n_rot;
  }
  // The converter's view of a GGUF header gives an array's length under <key>.length.
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "tokenizer.ggml.tokens.length", &config->n_vocab));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key("vocab_size"), &config->n_vocab));
  if (config->n_vocab == 0) {
    return FileError("config: {}: absent, want an integer", key("vocab_size"));
  }
  KRAFLA_RETURN_IF_ERROR(ReadGgufRope(values, family.gguf(), &config->rope));
  return ReadGgufTokenIds(values, config);
}

bool EveryLayer(int64_t, int64_t) { return true; }

bool AllButEveryNth(int64_t layer, int64_t n) { return (layer + 1) % n != 0; }

bool FromLayer(int64_t layer, int64_t first) { return layer >= first; }

void SetWindows(int64_t window, LayerRule rule, int64_t parameter, Config* config) {
  std::vector<int64_t> windows;
  for (int64_t i = 0; i < config->n_layers; ++i) {
    windows.push_back(rule(i, parameter) ? window : 0);
  }
  StoreWindows(std::move(windows), config);
}

Status ReadHfWindowSize(const KeyValues& values, int64_t* window) {
  if (values.Has("sliding_window")) *window = 0;
  return ReadInteger(values, "sliding_window", window);
}

Status ReadQwenWindows(const KeyValues& values, Config* config) {
  bool used = false;
  int64_t window = 4096;
  int64_t first = 28;
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, "use_sliding_window", &used));
  KRAFLA_RETURN_IF_ERROR(ReadHfWindowSize(values, &window));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "max_window_layers", &first));
  if (!used || window == 0) return OkStatus();
  return ReadHfWindows(values, window, FromLayer, first, config);
}

Status ReadGgufWindows(const KeyValues& values, int64_t window, LayerRule rule, int64_t parameter,
                       Config* config) {
  const std::string key = FormatText("{}.attention.sliding_window", config->arch);
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, &window));
  SetWindows(window, rule, parameter, config);
  return OkStatus();
}

Status ReadHfWindows(const KeyValues& values, int64_t window, LayerRule rule, int64_t parameter,
                     Config* config) {
  const auto kinds = values.StringList("layer_types");
  if (!kinds) {
    SetWindows(window, rule, parameter, config);
    return OkStatus();
  }
  std::vector<int64_t> windows;
  for (const std::string& kind : *kinds) {
    if (kind == "sliding_attention" && window == 0) {
      return FileError("config: layer_types: has sliding_attention, sliding_window has no value");
    }
    windows.push_back(kind == "sliding_attention" ? window : 0);
  }
  StoreWindows(std::move(windows), config);
  return OkStatus();
}

}  // namespace krafla

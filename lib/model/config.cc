// The field table of Config: each row names a metadata key, its member and its bounds; reading,
// writing and range checks walk the same rows, so a field cannot be stored and then not checked.
#include "lib/model/config.h"

#include <algorithm>
#include <string_view>

#include "lib/model/config_fields.h"

namespace krafla {
namespace {

using config_fields::kMost;

// The upper bounds keep every product of two of these below 2^63, whatever a file claims; a tensor
// of the claimed shape must also be present, so none of them allocates by itself.
constexpr config_fields::Integer<Config> kIntegers[] = {
    {"n_layers", &Config::n_layers, 1, 4096},
    {"n_embd", &Config::n_embd, 1, 1 << 24},
    {"n_heads", &Config::n_heads, 1, 1 << 14},
    {"n_kv_heads", &Config::n_kv_heads, 1, 1 << 14},
    {"head_dim", &Config::head_dim, 2, 1024},
    {"n_ff", &Config::n_ff, 1, 1 << 24},
    {"n_vocab", &Config::n_vocab, 1, INT32_MAX},
    {"max_positions", &Config::max_positions, 1, 1 << 30},  // Sin and Cos reach 2^30
    {"bos_id", &Config::bos_id, -1, INT32_MAX},
    {"n_rot", &Config::n_rot, 0, 1024, true},
    {"n_experts", &Config::n_experts, 0, 4096, true},
    {"n_experts_used", &Config::n_experts_used, 0, 256, true},
    {"n_ff_expert", &Config::n_ff_expert, 0, 1 << 24, true},
    {"n_ff_shared", &Config::n_ff_shared, 0, 1 << 24, true},
    {"delta_k_heads", &Config::delta_k_heads, 0, 1 << 12, true},
    {"delta_v_heads", &Config::delta_v_heads, 0, 1 << 12, true},
    {"delta_k_dim", &Config::delta_k_dim, 0, 1024, true},
    {"delta_v_dim", &Config::delta_v_dim, 0, 1024, true},
    {"delta_taps", &Config::delta_taps, 0, 8, true},
};

constexpr config_fields::Number<Config> kNumbers[] = {
    {"norm_eps", &Config::norm_eps, 1e-30, 1},
    {"attention_scale", &Config::attention_scale, 0, kMost, true},
    {"attention_softcap", &Config::attention_softcap, 0, kMost, true},
    {"final_softcap", &Config::final_softcap, 0, kMost, true},
    {"embed_scale", &Config::embed_scale, -kMost, kMost, true},
    {"residual_scale", &Config::residual_scale, -kMost, kMost, true},
    {"logit_scale", &Config::logit_scale, -kMost, kMost, true},
    {"swiglu_alpha", &Config::swiglu_alpha, 0, kMost, true},
    {"swiglu_limit", &Config::swiglu_limit, 0, kMost, true},
};

constexpr config_fields::Flag<Config> kFlags[] = {
    {"tied_head", &Config::tied_head},
    {"qkv_bias", &Config::qkv_bias, true},
    {"o_bias", &Config::o_bias, true},
    {"ffn_bias", &Config::ffn_bias, true},
    {"attention_gate", &Config::attention_gate, true},
    {"norm_topk", &Config::norm_topk, true},
    {"delta_tiled", &Config::delta_tiled, true},
};

constexpr config_fields::Integers<Config> kLists[] = {
    {"end_ids", &Config::end_ids, 0, INT32_MAX},
    {"windows", &Config::windows, 0, 1 << 30},
    {"ropes", &Config::ropes, -1, 1},
    {"dense_layers", &Config::dense_layers, 0, 4095},
    {"mixers", &Config::mixers, 0, 1},
};

constexpr std::string_view kPrefix = "model.";
constexpr const char* kArchKey = "model.arch";
constexpr const char* kNameKey = "model.name";
constexpr const char* kRopePrefix = "model.rope.";
constexpr const char* kLocalRopePrefix = "model.local_rope.";
constexpr size_t kMaxEndIds = 256;

Status ValidateHeads(const Config& config) {
  if (config.n_heads % config.n_kv_heads != 0) {
    return FileError("model.n_kv_heads: got {}, want a divisor of n_heads {}", config.n_kv_heads,
                     config.n_heads);
  }
  if (config.head_dim % 2 != 0) {
    return FileError("model.head_dim: got {}, want an even number", config.head_dim);
  }
  if (config.n_rot % 2 != 0 || config.n_rot > config.head_dim) {
    return FileError("model.n_rot: got {}, want an even number up to head_dim {}", config.n_rot,
                     config.head_dim);
  }
  return OkStatus();
}

// In single precision, one below would be no cap, or one without an inverse.
Status ValidateCaps(const Config& config) {
  constexpr double kLeast = 1e-6;
  for (const auto& [name, cap] : {std::pair("attention_softcap", config.attention_softcap),
                                  {"final_softcap", config.final_softcap}}) {
    if (cap != 0 && cap < kLeast) {
      return FileError("model.{}: got {}, want 0 or at least {}", name, cap, kLeast);
    }
  }
  return OkStatus();
}

Status ValidateLayers(const Config& config) {
  const auto n_layers = static_cast<size_t>(config.n_layers);
  for (const auto& [name, list] : {std::pair("windows", &config.windows),
                                   {"ropes", &config.ropes},
                                   {"mixers", &config.mixers}}) {
    if (!list->empty() && list->size() != n_layers) {
      return FileError("model.{}: got {} entries, want one for each of {} layers", name,
                       list->size(), n_layers);
    }
  }
  return OkStatus();
}

Status ValidateExperts(const Config& config) {
  if (config.n_experts == 0) return OkStatus();
  if (config.n_experts_used < 1 || config.n_experts_used > config.n_experts) {
    return FileError("model.n_experts_used: got {}, want 1 to {} experts", config.n_experts_used,
                     config.n_experts);
  }
  if (config.n_ff_expert < 1) return FileError("model.n_ff_expert: got 0, want at least 1");
  if ((config.swiglu_alpha > 0) != (config.swiglu_limit > 0)) {
    return FileError("model.swiglu_limit: got {} beside swiglu_alpha {}", config.swiglu_limit,
                     config.swiglu_alpha);
  }
  return OkStatus();
}

Status ValidateDelta(const Config& config) {
  if (config.n_delta_layers() == 0) return OkStatus();
  for (const auto& [name, value] : {std::pair("delta_k_heads", config.delta_k_heads),
                                    {"delta_v_heads", config.delta_v_heads},
                                    {"delta_k_dim", config.delta_k_dim},
                                    {"delta_v_dim", config.delta_v_dim}}) {
    if (value < 1) return FileError("model.{}: got {}, want at least 1", name, value);
  }
  if (config.delta_v_heads % config.delta_k_heads != 0) {
    return FileError("model.delta_v_heads: got {}, want a multiple of delta_k_heads {}",
                     config.delta_v_heads, config.delta_k_heads);
  }
  if (config.delta_taps < 2) {
    return FileError("model.delta_taps: got {}, want 2 to 8", config.delta_taps);
  }
  return OkStatus();
}

Status ValidateIds(const Config& config) {
  if (config.bos_id >= config.n_vocab) {
    return FileError("model.bos_id: got {}, want less than n_vocab {}", config.bos_id,
                     config.n_vocab);
  }
  if (config.end_ids.size() > kMaxEndIds) {
    return FileError("model.end_ids: got {} ids, want at most {}", config.end_ids.size(),
                     kMaxEndIds);
  }
  for (const int64_t id : config.end_ids) {
    if (id >= config.n_vocab) {
      return FileError("model.end_ids: got {}, want 0 to n_vocab - 1 = {}", id, config.n_vocab - 1);
    }
  }
  return OkStatus();
}

}  // namespace

bool Config::has_experts(int64_t layer) const {
  return n_experts > 0 &&
         std::find(dense_layers.begin(), dense_layers.end(), layer) == dense_layers.end();
}

int64_t Config::n_delta_layers() const { return std::count(mixers.begin(), mixers.end(), 1); }

bool Config::uses_local_rope() const {
  return std::find(ropes.begin(), ropes.end(), 1) != ropes.end();
}

Status ValidateConfig(const Config& config) {
  if (config.arch.empty()) return FileError("{}: empty, want an architecture's name", kArchKey);
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kIntegers, kPrefix, config));
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kNumbers, kPrefix, config));
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kLists, kPrefix, config));
  KRAFLA_RETURN_IF_ERROR(ValidateHeads(config));
  KRAFLA_RETURN_IF_ERROR(ValidateCaps(config));
  KRAFLA_RETURN_IF_ERROR(ValidateLayers(config));
  KRAFLA_RETURN_IF_ERROR(ValidateExperts(config));
  KRAFLA_RETURN_IF_ERROR(ValidateDelta(config));
  const int64_t n_rot = config.rotated_dims();
  KRAFLA_RETURN_IF_ERROR(ValidateRope(config.rope, n_rot, kRopePrefix));
  if (config.uses_local_rope()) {
    KRAFLA_RETURN_IF_ERROR(ValidateRope(config.local_rope, n_rot, kLocalRopePrefix));
  }
  return ValidateIds(config);
}

std::vector<MetaEntry> ConfigToMetadata(const Config& config) {
  std::vector<MetaEntry> entries;
  entries.push_back({kArchKey, config.arch});
  if (!config.name.empty()) entries.push_back({kNameKey, config.name});
  config_fields::Write(kIntegers, kPrefix, config, &entries);
  config_fields::Write(kNumbers, kPrefix, config, &entries);
  RopeToMetadata(config.rope, kRopePrefix, &entries);
  if (config.uses_local_rope()) RopeToMetadata(config.local_rope, kLocalRopePrefix, &entries);
  config_fields::Write(kFlags, kPrefix, config, &entries);
  config_fields::Write(kLists, kPrefix, config, &entries);
  return entries;
}

StatusOr<Config> ConfigFromMetadata(const MlbFile& file) {
  Config config;
  KRAFLA_ASSIGN_OR_RETURN(config.arch, config_fields::RequireString(file, kArchKey));
  if (file.Meta(kNameKey) != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(config.name, config_fields::RequireString(file, kNameKey));
  }
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kIntegers, kPrefix, file, &config));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kNumbers, kPrefix, file, &config));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kFlags, kPrefix, file, &config));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kLists, kPrefix, file, &config));
  KRAFLA_RETURN_IF_ERROR(RopeFromMetadata(file, kRopePrefix, &config.rope));
  if (config.uses_local_rope()) {
    KRAFLA_RETURN_IF_ERROR(RopeFromMetadata(file, kLocalRopePrefix, &config.local_rope));
  }
  KRAFLA_RETURN_IF_ERROR(ValidateConfig(config));
  return config;
}

}  // namespace krafla

// The field table of Config: each row names a metadata key, its member and its bounds; reading,
// writing and range checks walk the same rows, so a field cannot be stored and then not checked.
#include "lib/model/config.h"

#include <algorithm>
#include <string_view>
#include <variant>

namespace krafla {
namespace {

struct IntegerField {
  const char* key;
  int64_t Config::*member;
  int64_t min;
  int64_t max;
};

struct NumberField {
  const char* key;
  double& (*get)(Config& config);
  double min;
  double max;
};

// The upper bounds keep every product of two of these below 2^63, whatever a file claims; a tensor
// of the claimed shape must also be present, so none of them allocates by itself.
constexpr IntegerField kIntegers[] = {
    {"model.n_layers", &Config::n_layers, 1, 4096},
    {"model.n_embd", &Config::n_embd, 1, 1 << 24},
    {"model.n_heads", &Config::n_heads, 1, 1 << 14},
    {"model.n_kv_heads", &Config::n_kv_heads, 1, 1 << 14},
    {"model.head_dim", &Config::head_dim, 2, 1024},
    {"model.n_ff", &Config::n_ff, 1, 1 << 24},
    {"model.n_vocab", &Config::n_vocab, 1, INT32_MAX},
    {"model.max_positions", &Config::max_positions, 1, 1 << 30},  // Sin and Cos reach 2^30
    {"model.bos_id", &Config::bos_id, -1, INT32_MAX},
};

constexpr double kMax = 1e18;
constexpr NumberField kNumbers[] = {
    {"model.norm_eps", [](Config& c) -> double& { return c.norm_eps; }, 1e-30, 1},
    {"model.rope.theta", [](Config& c) -> double& { return c.rope.theta; }, 1e-6, kMax},
    {"model.rope.factor", [](Config& c) -> double& { return c.rope.factor; }, 1e-6, 1e6},
    {"model.rope.low_freq_factor", [](Config& c) -> double& { return c.rope.low_freq_factor; },
     1e-6, 1e6},
    {"model.rope.high_freq_factor", [](Config& c) -> double& { return c.rope.high_freq_factor; },
     1e-6, 1e6},
};

constexpr std::string_view kRopeKinds[] = {"default", "linear", "llama3"};
constexpr const char* kArchKey = "model.arch";
constexpr const char* kNameKey = "model.name";
constexpr const char* kRopeKindKey = "model.rope.kind";
constexpr const char* kOriginalKey = "model.rope.original_max_positions";
constexpr const char* kTiedKey = "model.tied_head";
constexpr const char* kEndIdsKey = "model.end_ids";
constexpr size_t kMaxEndIds = 256;

Status ValidateRope(const RopeConfig& rope) {
  if (std::find(std::begin(kRopeKinds), std::end(kRopeKinds), rope.kind) == std::end(kRopeKinds)) {
    return UnsupportedError("{}: \"{}\" is not built here, want default, linear or llama3",
                            kRopeKindKey, rope.kind);
  }
  if (rope.original_max_positions < 0 || rope.original_max_positions > 1 << 30) {
    return FileError("{}: got {}, want 0 to 2^30", kOriginalKey, rope.original_max_positions);
  }
  if (rope.kind == "llama3") {
    if (rope.original_max_positions < 1) {
      return FileError("{}: got 0, want at least 1 for rope kind llama3", kOriginalKey);
    }
    if (!(rope.high_freq_factor > rope.low_freq_factor)) {
      return FileError("model.rope.high_freq_factor: got {}, want more than low_freq_factor {}",
                       rope.high_freq_factor, rope.low_freq_factor);
    }
  }
  return OkStatus();
}

template <typename T>
StatusOr<const T*> Get(const MlbFile& file, std::string_view key, std::string_view kind) {
  const MetaValue* value = file.Meta(key);
  if (value == nullptr) return FileError("metadata: {}: absent, want {}", key, kind);
  const T* held = std::get_if<T>(value);
  if (held == nullptr) return FileError("metadata: {}: of another type, want {}", key, kind);
  return held;
}

StatusOr<double> GetNumber(const MlbFile& file, std::string_view key) {
  const MetaValue* value = file.Meta(key);
  if (value != nullptr) {
    if (const int64_t* integer = std::get_if<int64_t>(value)) return static_cast<double>(*integer);
  }
  KRAFLA_ASSIGN_OR_RETURN(const double* number, Get<double>(file, key, "a number"));
  return *number;
}

Status ReadStrings(const MlbFile& file, Config* config) {
  KRAFLA_ASSIGN_OR_RETURN(const std::string* arch, Get<std::string>(file, kArchKey, "a string"));
  KRAFLA_ASSIGN_OR_RETURN(const std::string* rope,
                          Get<std::string>(file, kRopeKindKey, "a string"));
  config->arch = *arch;
  config->rope.kind = *rope;
  if (file.Meta(kNameKey) != nullptr) {
    KRAFLA_ASSIGN_OR_RETURN(const std::string* name, Get<std::string>(file, kNameKey, "a string"));
    config->name = *name;
  }
  return OkStatus();
}

Status ReadEndIds(const MlbFile& file, Config* config) {
  if (file.Meta(kEndIdsKey) == nullptr) return OkStatus();
  KRAFLA_ASSIGN_OR_RETURN(const std::vector<int64_t>* ids,
                          Get<std::vector<int64_t>>(file, kEndIdsKey, "a list of integers"));
  config->end_ids = *ids;
  return OkStatus();
}

}  // namespace

Status ValidateConfig(const Config& config) {
  if (config.arch.empty()) return FileError("{}: empty, want an architecture's name", kArchKey);
  for (const IntegerField& field : kIntegers) {
    const int64_t value = config.*field.member;
    if (value < field.min || value > field.max) {
      return FileError("{}: got {}, want {} to {}", field.key, value, field.min, field.max);
    }
  }
  Config& writable = const_cast<Config&>(config);  // the getters serve reading too; nothing is set
  for (const NumberField& field : kNumbers) {
    const double value = field.get(writable);
    if (!(value >= field.min && value <= field.max)) {  // false for NaN
      return FileError("{}: got {}, want {} to {}", field.key, value, field.min, field.max);
    }
  }
  if (config.n_heads % config.n_kv_heads != 0) {
    return FileError("model.n_kv_heads: got {}, want a divisor of n_heads {}", config.n_kv_heads,
                     config.n_heads);
  }
  if (config.head_dim % 2 != 0) {
    return FileError("model.head_dim: got {}, want an even number", config.head_dim);
  }
  KRAFLA_RETURN_IF_ERROR(ValidateRope(config.rope));
  if (config.bos_id >= config.n_vocab) {
    return FileError("model.bos_id: got {}, want less than n_vocab {}", config.bos_id,
                     config.n_vocab);
  }
  if (config.end_ids.size() > kMaxEndIds) {
    return FileError("{}: got {} ids, want at most {}", kEndIdsKey, config.end_ids.size(),
                     kMaxEndIds);
  }
  for (const int64_t id : config.end_ids) {
    if (id < 0 || id >= config.n_vocab) {
      return FileError("{}: got {}, want 0 to n_vocab - 1 = {}", kEndIdsKey, id,
                       config.n_vocab - 1);
    }
  }
  return OkStatus();
}

std::vector<MetaEntry> ConfigToMetadata(const Config& config) {
  std::vector<MetaEntry> entries;
  entries.push_back({kArchKey, config.arch});
  if (!config.name.empty()) entries.push_back({kNameKey, config.name});
  for (const IntegerField& field : kIntegers) entries.push_back({field.key, config.*field.member});
  Config& writable = const_cast<Config&>(config);
  for (const NumberField& field : kNumbers) entries.push_back({field.key, field.get(writable)});
  entries.push_back({kRopeKindKey, config.rope.kind});
  entries.push_back({kOriginalKey, config.rope.original_max_positions});
  entries.push_back({kTiedKey, config.tied_head});
  entries.push_back({kEndIdsKey, config.end_ids});
  return entries;
}

StatusOr<Config> ConfigFromMetadata(const MlbFile& file) {
  Config config;
  KRAFLA_RETURN_IF_ERROR(ReadStrings(file, &config));
  for (const IntegerField& field : kIntegers) {
    KRAFLA_ASSIGN_OR_RETURN(const int64_t* value, Get<int64_t>(file, field.key, "an integer"));
    config.*field.member = *value;
  }
  for (const NumberField& field : kNumbers) {
    KRAFLA_ASSIGN_OR_RETURN(field.get(config), GetNumber(file, field.key));
  }
  KRAFLA_ASSIGN_OR_RETURN(const int64_t* original, Get<int64_t>(file, kOriginalKey, "an integer"));
  config.rope.original_max_positions = *original;
  KRAFLA_ASSIGN_OR_RETURN(const bool* tied, Get<bool>(file, kTiedKey, "a boolean"));
  config.tied_head = *tied;
  KRAFLA_RETURN_IF_ERROR(ReadEndIds(file, &config));
  KRAFLA_RETURN_IF_ERROR(ValidateConfig(config));
  return config;
}

}  // namespace krafla

// Reading of configuration keys, shared by the architectures.
#include "lib/model/arch/keys.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "lib/base/math.h"

namespace krafla {
namespace {

// A key without a value of the wanted kind: null and absent are the same, another kind is an error.
Status CheckAbsent(const KeyValues& values, std::string_view key, const char* kind) {
  if (values.HasValue(key)) {
    return FileError("config: {}: of another kind, want {}", key, kind);
  }
  return OkStatus();
}

std::string Join(std::string_view prefix, std::string_view key) {
  return FormatText("{}.{}", prefix, key);
}

}  // namespace

Status ReadInteger(const KeyValues& values, std::string_view key, int64_t* out) {
  const std::optional<int64_t> value = values.Integer(key);
  if (!value) return CheckAbsent(values, key, "an integer");
  *out = *value;
  return OkStatus();
}

Status ReadNumber(const KeyValues& values, std::string_view key, double* out) {
  const std::optional<double> value = values.Number(key);
  if (!value) return CheckAbsent(values, key, "a number");
  *out = *value;
  return OkStatus();
}

Status ReadBool(const KeyValues& values, std::string_view key, bool* out) {
  const std::optional<bool> value = values.Bool(key);
  if (!value) return CheckAbsent(values, key, "a boolean");
  *out = *value;
  return OkStatus();
}

Status ReadString(const KeyValues& values, std::string_view key, std::string* out) {
  std::optional<std::string> value = values.String(key);
  if (!value) return CheckAbsent(values, key, "a string");
  *out = *std::move(value);
  return OkStatus();
}

Status ReadNumbers(const KeyValues& values, std::string_view key, std::vector<double>* out) {
  const std::optional<std::vector<double>> list = values.Numbers(key);
  if (!list) return CheckAbsent(values, key, "a list of numbers");
  *out = *list;
  return OkStatus();
}

Status RequireInteger(const KeyValues& values, std::string_view key, int64_t* out) {
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, out));
  if (!values.Integer(key)) return FileError("config: {}: absent, want an integer", key);
  return OkStatus();
}

Status RequireNumber(const KeyValues& values, std::string_view key, double* out) {
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, key, out));
  if (!values.Number(key)) return FileError("config: {}: absent, want a number", key);
  return OkStatus();
}

Status ReadIds(const KeyValues& values, std::string_view key, std::vector<int64_t>* out) {
  if (const std::optional<int64_t> one = values.Integer(key)) {
    *out = {*one};
    return OkStatus();
  }
  const std::optional<std::vector<double>> list = values.Numbers(key);
  if (!list) return CheckAbsent(values, key, "an id or a list of ids");
  out->clear();
  for (const double number : *list) {
    if (!(number >= -1 && number <= INT32_MAX) || number != std::floor(number)) {
      return FileError("config: {}: got {}, want an id", key, number);
    }
    out->push_back(static_cast<int64_t>(number));
  }
  return OkStatus();
}

double DefaultAttentionFactor(const RopeConfig& rope, int64_t max_positions) {
  if (rope.kind == "yarn") return rope.factor <= 1 ? 1 : 0.1 * Log(rope.factor) + 1;
  if (rope.kind != "longrope" || rope.original_max_positions < 2) return 1;
  const auto original = static_cast<double>(rope.original_max_positions);
  const double factor = static_cast<double>(max_positions) / original;
  return factor <= 1 ? 1 : std::sqrt(1 + Log(factor) / Log(original));
}

namespace {

struct RopeExtras {
  double rotated = 1;
  std::optional<double> factor;
  std::optional<double> attention_factor;
  double mscale = 0;
  double mscale_all_dim = 0;
};

Status ReadRopeGroup(const KeyValues& values, std::string_view group, RopeConfig* rope,
                     RopeExtras* extras) {
  if (values.HasValue(group) && !values.IsObject(group)) {
    return FileError("config: {}: of another kind, want an object", group);
  }
  for (const char* key : {"type", "rope_type"}) {
    KRAFLA_RETURN_IF_ERROR(ReadString(values, Join(group, key), &rope->kind));
  }
  if (rope->kind == "su") rope->kind = "longrope";  // its first name
  const std::pair<const char*, double*> numbers[] = {
      {"rope_theta", &rope->theta},
      {"low_freq_factor", &rope->low_freq_factor},
      {"high_freq_factor", &rope->high_freq_factor},
      {"beta_fast", &rope->beta_fast},
      {"beta_slow", &rope->beta_slow},
      {"mscale", &extras->mscale},
      {"mscale_all_dim", &extras->mscale_all_dim},
      {"partial_rotary_factor", &extras->rotated},
  };
  for (const auto& [key, out] : numbers) {
    KRAFLA_RETURN_IF_ERROR(ReadNumber(values, Join(group, key), out));
  }
  const std::pair<const char*, std::optional<double>*> optional_numbers[] = {
      {"factor", &extras->factor}, {"attention_factor", &extras->attention_factor}};
  for (const auto& [key, out] : optional_numbers) {
    double number = 0;
    KRAFLA_RETURN_IF_ERROR(ReadNumber(values, Join(group, key), &number));
    if (values.Number(Join(group, key))) *out = number;
  }
  KRAFLA_RETURN_IF_ERROR(ReadBool(values, Join(group, "truncate"), &rope->truncate));
  KRAFLA_RETURN_IF_ERROR(ReadNumbers(values, Join(group, "short_factor"), &rope->short_factors));
  KRAFLA_RETURN_IF_ERROR(ReadNumbers(values, Join(group, "long_factor"), &rope->long_factors));
  return ReadInteger(values, Join(group, "original_max_position_embeddings"),
                     &rope->original_max_positions);
}

// mscale(factor, m) / mscale(factor, m_all): DeepSeek's form of yarn's attention factor.
double ScaledAttentionFactor(const RopeConfig& rope, const RopeExtras& extras) {
  if (rope.factor <= 1) return 1;
  const double log = 0.1 * Log(rope.factor);
  return (log * extras.mscale + 1) / (log * extras.mscale_all_dim + 1);
}

}  // namespace

Status ReadHfRope(const KeyValues& values, std::string_view group, int64_t max_positions,
                  RopeConfig* rope, double* rotated) {
  RopeExtras extras;
  extras.rotated = *rotated;
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "rope_theta", &rope->theta));
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, "partial_rotary_factor", &extras.rotated));
  // The old group first, so that the new one wins where a file has both.
  KRAFLA_RETURN_IF_ERROR(ReadRopeGroup(values, "rope_scaling", rope, &extras));
  KRAFLA_RETURN_IF_ERROR(ReadRopeGroup(values, group, rope, &extras));
  // Phi-3 has it beside the groups, and there it counts.
  KRAFLA_RETURN_IF_ERROR(
      ReadInteger(values, "original_max_position_embeddings", &rope->original_max_positions));
  *rotated = extras.rotated;
  const bool scaled = rope->kind == "llama3" || rope->kind == "yarn" || rope->kind == "longrope";
  if (scaled && rope->original_max_positions == 0) rope->original_max_positions = max_positions;
  if (extras.factor) {
    rope->factor = *extras.factor;
  } else if (rope->kind == "linear" || rope->kind == "llama3") {
    return FileError("config: {}.factor: absent, want a number for rope kind {}", group,
                     rope->kind);
  } else if (rope->kind == "yarn" && rope->original_max_positions > 0) {
    rope->factor =
        static_cast<double>(max_positions) / static_cast<double>(rope->original_max_positions);
  }
  rope->attention_factor = DefaultAttentionFactor(*rope, max_positions);
  if (rope->kind == "yarn" && extras.mscale != 0 && extras.mscale_all_dim != 0) {
    rope->attention_factor = ScaledAttentionFactor(*rope, extras);
  }
  if (extras.attention_factor) rope->attention_factor = *extras.attention_factor;
  return OkStatus();
}

Status ReadGgufRope(const KeyValues& values, std::string_view arch, RopeConfig* rope) {
  const std::string prefix = Join(arch, "rope");
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, Join(prefix, "freq_base"), &rope->theta));
  double scale_linear = 1;  // the key of early files
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, Join(prefix, "scale_linear"), &scale_linear));
  if (scale_linear != 1) {
    rope->kind = "linear";
    rope->factor = scale_linear;
  }
  std::string kind = "none";
  KRAFLA_RETURN_IF_ERROR(ReadString(values, Join(prefix, "scaling.type"), &kind));
  if (kind == "none") return OkStatus();
  rope->kind = std::move(kind);
  KRAFLA_RETURN_IF_ERROR(ReadNumber(values, Join(prefix, "scaling.factor"), &rope->factor));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, Join(prefix, "scaling.low_freq_factor"), &rope->low_freq_factor));
  KRAFLA_RETURN_IF_ERROR(
      ReadNumber(values, Join(prefix, "scaling.high_freq_factor"), &rope->high_freq_factor));
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, Join(prefix, "scaling.original_context_length"),
                                     &rope->original_max_positions));
  rope->attention_factor = DefaultAttentionFactor(*rope, /*max_positions=*/0);
  return ReadNumber(values, Join(prefix, "scaling.attn_factor"), &rope->attention_factor);
}

Status ReadHfTokenIds(const KeyValues& values, Config* config) {
  std::vector<int64_t> bos;
  KRAFLA_RETURN_IF_ERROR(ReadIds(values, "bos_token_id", &bos));
  if (!bos.empty()) config->bos_id = bos.front();
  return ReadIds(values, "eos_token_id", &config->end_ids);
}

Status ReadGgufTokenIds(const KeyValues& values, Config* config) {
  KRAFLA_RETURN_IF_ERROR(ReadInteger(values, "tokenizer.ggml.bos_token_id", &config->bos_id));
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                          "tokenizer.ggml.eom_token_id"}) {
    int64_t id = 0;
    KRAFLA_RETURN_IF_ERROR(ReadInteger(values, key, &id));
    const auto& known = config->end_ids;
    if (values.Integer(key) && std::find(known.begin(), known.end(), id) == known.end()) {
      config->end_ids.push_back(id);
    }
  }
  return OkStatus();
}

}  // namespace krafla

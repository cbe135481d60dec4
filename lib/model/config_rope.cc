// The fields of a RopeConfig in metadata, and what each kind of scaling needs of them.
#include <algorithm>
#include <string_view>

#include "lib/model/config_fields.h"

namespace krafla {
namespace {

using config_fields::kMost;

constexpr config_fields::Number<RopeConfig> kNumbers[] = {
    {"theta", &RopeConfig::theta, 1e-6, kMost},
    {"factor", &RopeConfig::factor, 1e-6, 1e6},
    {"low_freq_factor", &RopeConfig::low_freq_factor, 1e-6, 1e6},
    {"high_freq_factor", &RopeConfig::high_freq_factor, 1e-6, 1e6},
    {"beta_fast", &RopeConfig::beta_fast, 1e-6, 1e6, true},
    {"beta_slow", &RopeConfig::beta_slow, 1e-6, 1e6, true},
    {"attention_factor", &RopeConfig::attention_factor, 1e-6, 1e6, true},
};
constexpr config_fields::Integer<RopeConfig> kIntegers[] = {
    {"original_max_positions", &RopeConfig::original_max_positions, 0, 1 << 30},
};
constexpr config_fields::Flag<RopeConfig> kFlags[] = {
    {"truncate", &RopeConfig::truncate, true},
};
constexpr config_fields::Numbers<RopeConfig> kLists[] = {
    {"short_factors", &RopeConfig::short_factors, 1e-6, 1e6},
    {"long_factors", &RopeConfig::long_factors, 1e-6, 1e6},
};

constexpr std::string_view kKinds[] = {"default", "linear", "llama3", "yarn", "longrope"};

std::string KindKey(std::string_view prefix) { return FormatText("{}kind", prefix); }

}  // namespace

Status ValidateRope(const RopeConfig& rope, int64_t n_rot, std::string_view prefix) {
  if (std::find(std::begin(kKinds), std::end(kKinds), rope.kind) == std::end(kKinds)) {
    return UnsupportedError(
        "{}: \"{}\" is not built here, want default, linear, llama3, yarn or longrope",
        KindKey(prefix), rope.kind);
  }
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kNumbers, prefix, rope));
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kIntegers, prefix, rope));
  KRAFLA_RETURN_IF_ERROR(config_fields::Check(kLists, prefix, rope));
  if (rope.kind == "default" || rope.kind == "linear") return OkStatus();
  if (rope.original_max_positions < 1) {
    return FileError("{}original_max_positions: got 0, want at least 1 for rope kind {}", prefix,
                     rope.kind);
  }
  if (rope.kind == "llama3" && !(rope.high_freq_factor > rope.low_freq_factor)) {
    return FileError("{}high_freq_factor: got {}, want more than low_freq_factor {}", prefix,
                     rope.high_freq_factor, rope.low_freq_factor);
  }
  if (rope.kind == "yarn" && !(rope.theta > 1)) {
    return FileError("{}theta: got {}, want more than 1 for rope kind yarn", prefix, rope.theta);
  }
  if (rope.kind == "longrope") {
    for (const auto* factors : {&rope.short_factors, &rope.long_factors}) {
      if (factors->size() != static_cast<size_t>(n_rot / 2)) {
        return FileError("{}{}: got {} numbers, want {}, one a frequency", prefix,
                         factors == &rope.short_factors ? "short_factors" : "long_factors",
                         factors->size(), n_rot / 2);
      }
    }
  }
  return OkStatus();
}

void RopeToMetadata(const RopeConfig& rope, std::string_view prefix,
                    std::vector<MetaEntry>* entries) {
  config_fields::Write(kNumbers, prefix, rope, entries);
  entries->push_back({KindKey(prefix), rope.kind});
  config_fields::Write(kIntegers, prefix, rope, entries);
  config_fields::Write(kFlags, prefix, rope, entries);
  config_fields::Write(kLists, prefix, rope, entries);
}

Status RopeFromMetadata(const MlbFile& file, std::string_view prefix, RopeConfig* rope) {
  KRAFLA_ASSIGN_OR_RETURN(rope->kind, config_fields::RequireString(file, KindKey(prefix)));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kNumbers, prefix, file, rope));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kIntegers, prefix, file, rope));
  KRAFLA_RETURN_IF_ERROR(config_fields::Read(kFlags, prefix, file, rope));
  return config_fields::Read(kLists, prefix, file, rope);
}

}  // namespace krafla

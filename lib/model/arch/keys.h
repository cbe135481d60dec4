// What architectures share when they read a checkpoint's configuration: required and optional keys
// with errors that name them, the rope keys of config.json in their old and new places, token ids.
#ifndef KRAFLA_LIB_MODEL_ARCH_KEYS_H_
#define KRAFLA_LIB_MODEL_ARCH_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/key_values.h"
#include "lib/model/config.h"

namespace krafla {

// FileError where the key is absent or of another kind.
Status RequireInteger(const KeyValues& values, std::string_view key, int64_t* out);
Status RequireNumber(const KeyValues& values, std::string_view key, double* out);
// Absent or null: *out stays as it is; of another kind: FileError.
Status ReadInteger(const KeyValues& values, std::string_view key, int64_t* out);
Status ReadNumber(const KeyValues& values, std::string_view key, double* out);
Status ReadBool(const KeyValues& values, std::string_view key, bool* out);
Status ReadString(const KeyValues& values, std::string_view key, std::string* out);
Status ReadNumbers(const KeyValues& values, std::string_view key, std::vector<double>* out);
// One id or a list of ids; absent: *out stays as it is.
Status ReadIds(const KeyValues& values, std::string_view key, std::vector<int64_t>* out);

// config.json: rope_parameters.* (new), else rope_theta and rope_scaling.* (old); where a family
// has several, the new ones are in `group`: "rope_parameters.full_attention". What is absent stays
// as it is. Kinds that ValidateConfig does not know pass through and are refused there by name.
// *rotated: the share of a head that is rotated; it stays where no key says.
Status ReadHfRope(const KeyValues& values, std::string_view group, int64_t max_positions,
                  RopeConfig* rope, double* rotated);
// The attention factor of yarn and longrope where the configuration has none.
double DefaultAttentionFactor(const RopeConfig& rope, int64_t max_positions);
// GGUF: <arch>.rope.freq_base and <arch>.rope.scaling.*.
Status ReadGgufRope(const KeyValues& values, std::string_view arch, RopeConfig* rope);
// bos_token_id and eos_token_id of config.json / of a GGUF's tokenizer.
Status ReadHfTokenIds(const KeyValues& values, Config* config);
Status ReadGgufTokenIds(const KeyValues& values, Config* config);

}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_ARCH_KEYS_H_

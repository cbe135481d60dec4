// Tables of fields: how config.cc and config_rope.cc describe their structs once for reading,
// writing and range checks. T is the struct; an optional field is stored only where it differs from
// T's default and may be absent.
#ifndef KRAFLA_LIB_MODEL_CONFIG_FIELDS_H_
#define KRAFLA_LIB_MODEL_CONFIG_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/mlb.h"
#include "lib/model/config.h"

namespace krafla {

// Of a RopeConfig under keys that begin with `prefix` (config_rope.cc).
Status ValidateRope(const RopeConfig& rope, int64_t n_rot, std::string_view prefix);
void RopeToMetadata(const RopeConfig& rope, std::string_view prefix,
                    std::vector<MetaEntry>* entries);
Status RopeFromMetadata(const MlbFile& file, std::string_view prefix, RopeConfig* rope);

namespace config_fields {

inline constexpr double kMost = 1e18;

template <typename T, typename V>
struct Bounded {
  using Value = V;
  const char* key;
  V T::*member;
  V min;
  V max;
  bool optional = false;
};
template <typename T>
using Integer = Bounded<T, int64_t>;
template <typename T>
using Number = Bounded<T, double>;

template <typename T>
struct Flag {
  using Value = bool;
  const char* key;
  bool T::*member;
  bool optional = false;
};

// Always optional; the bounds are those of the elements.
template <typename T, typename V>
struct List {
  using Value = std::vector<V>;
  static constexpr bool optional = true;
  const char* key;
  std::vector<V> T::*member;
  V min;
  V max;
};
template <typename T>
using Integers = List<T, int64_t>;
template <typename T>
using Numbers = List<T, double>;

inline const char* KindName(int64_t) { return "an integer"; }
inline const char* KindName(double) { return "a number"; }
inline const char* KindName(bool) { return "a boolean"; }
inline const char* KindName(const std::string&) { return "a string"; }
inline const char* KindName(const std::vector<int64_t>&) { return "a list of integers"; }
inline const char* KindName(const std::vector<double>&) { return "a list of numbers"; }

template <typename V>
Status Get(const MlbFile& file, const std::string& key, bool optional, V* out) {
  const MetaValue* value = file.Meta(key);
  if (value == nullptr) {
    if (optional) return OkStatus();
    return FileError("metadata: {}: absent, want {}", key, KindName(*out));
  }
  if (const V* held = std::get_if<V>(value)) {
    *out = *held;
    return OkStatus();
  }
  if constexpr (std::is_same_v<V, double>) {
    if (const int64_t* integer = std::get_if<int64_t>(value)) {
      *out = static_cast<double>(*integer);
      return OkStatus();
    }
  }
  return FileError("metadata: {}: of another type, want {}", key, KindName(*out));
}

inline StatusOr<std::string> RequireString(const MlbFile& file, const std::string& key) {
  std::string text;
  KRAFLA_RETURN_IF_ERROR(Get(file, key, /*optional=*/false, &text));
  return text;
}

template <typename Row, size_t kN, typename T>
Status Read(const Row (&rows)[kN], std::string_view prefix, const MlbFile& file, T* out) {
  for (const Row& row : rows) {
    const std::string key = FormatText("{}{}", prefix, row.key);
    KRAFLA_RETURN_IF_ERROR(Get(file, key, row.optional, &(out->*row.member)));
  }
  return OkStatus();
}

template <typename Row, size_t kN, typename T>
void Write(const Row (&rows)[kN], std::string_view prefix, const T& in,
           std::vector<MetaEntry>* entries) {
  const T defaults;
  for (const Row& row : rows) {
    if (row.optional && in.*row.member == defaults.*row.member) continue;
    entries->push_back({FormatText("{}{}", prefix, row.key), in.*row.member});
  }
}

template <typename V>
Status CheckRange(std::string_view prefix, const char* key, V value, V min, V max) {
  if (value >= min && value <= max) return OkStatus();  // false for NaN
  return FileError("{}{}: got {}, want {} to {}", prefix, key, value, min, max);
}

template <typename T, typename V, size_t kN>
Status Check(const Bounded<T, V> (&rows)[kN], std::string_view prefix, const T& in) {
  for (const auto& row : rows) {
    KRAFLA_RETURN_IF_ERROR(CheckRange(prefix, row.key, in.*row.member, row.min, row.max));
  }
  return OkStatus();
}

template <typename T, typename V, size_t kN>
Status Check(const List<T, V> (&rows)[kN], std::string_view prefix, const T& in) {
  for (const auto& row : rows) {
    for (const V value : in.*row.member) {
      KRAFLA_RETURN_IF_ERROR(CheckRange(prefix, row.key, value, row.min, row.max));
    }
  }
  return OkStatus();
}

}  // namespace config_fields
}  // namespace krafla

#endif  // KRAFLA_LIB_MODEL_CONFIG_FIELDS_H_

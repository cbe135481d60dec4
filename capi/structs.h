// Size-versioned structs. A caller built with an older header passes a shorter struct: the fields
// it does not have are defaults. A newer caller passes a longer one: its tail must be zero, since
// it asks for what this library does not know. Info structs are never written beyond the caller's
// struct_size.
#ifndef KRAFLA_CAPI_STRUCTS_H_
#define KRAFLA_CAPI_STRUCTS_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "lib/base/status.h"

namespace krafla::capi {

// Far beyond any struct of any version: a larger struct_size is garbage, and reading that far would
// fault.
inline constexpr size_t kMaxStructSize = 4096;

// Copies the caller's options over *out, which holds zeros. A null pointer leaves the defaults.
template <typename T>
Status ReadOptions(const T* options, const char* name, T* out) {
  std::memset(static_cast<void*>(out), 0, sizeof(T));
  out->struct_size = sizeof(T);
  if (options == nullptr) return OkStatus();
  const size_t size = options->struct_size;
  if (size < sizeof(size_t) || size > kMaxStructSize) {
    return ArgumentError("{}: struct_size is {}, want {} (use the _INIT macro)", name, size,
                         sizeof(T));
  }
  std::memcpy(static_cast<void*>(out), options, std::min(size, sizeof(T)));
  out->struct_size = sizeof(T);
  const char* bytes = reinterpret_cast<const char*>(options);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return UnsupportedError(
          "{}: byte {} is set, but this library knows {} bytes: it is older than the caller's "
          "header",
          name, i, sizeof(T));
    }
  }
  return OkStatus();
}

template <typename T>
Status CheckInfo(const T* info, const char* name) {
  if (info == nullptr) return ArgumentError("{}: NULL", name);
  if (info->struct_size < sizeof(size_t) || info->struct_size > kMaxStructSize) {
    return ArgumentError("{}: struct_size is {}, want {}", name, info->struct_size, sizeof(T));
  }
  return OkStatus();
}

// Call CheckInfo first; struct_size stays what the caller set, a longer tail of the caller's is
// zeroed.
template <typename T>
void WriteInfo(const T& filled, T* info) {
  const size_t size = info->struct_size;
  const size_t known = std::min(size, sizeof(T));
  std::memcpy(reinterpret_cast<char*>(info) + sizeof(size_t),
              reinterpret_cast<const char*>(&filled) + sizeof(size_t), known - sizeof(size_t));
  if (size > sizeof(T)) std::memset(reinterpret_cast<char*>(info) + sizeof(T), 0, size - sizeof(T));
}

// A caller's string; NULL is allowed for length 0.
inline StatusOr<std::string_view> ReadString(const char* text, size_t length, const char* name) {
  if (text == nullptr && length != 0) return ArgumentError("{}: NULL with length {}", name, length);
  if (length > (size_t{1} << 40)) return ArgumentError("{}: length {} is absurd", name, length);
  return text == nullptr ? std::string_view() : std::string_view(text, length);
}

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_STRUCTS_H_

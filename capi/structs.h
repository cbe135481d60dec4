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
  if (info == nullptr) return ArgumentError("{}: got NULL, want a pointer", name);
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
  constexpr uint64_t kMaxLength = uint64_t{1} << 40;
  if (text == nullptr && length != 0) {
    return ArgumentError("{}: got NULL with length {}, want a pointer", name, length);
  }
  if (length > kMaxLength) {
    return ArgumentError("{}: length: got {}, want at most {}", name, length, kMaxLength);
  }
  return text == nullptr ? std::string_view() : std::string_view(text, length);
}

// A caller's array has this many elements at most: no text or cache of any model is longer, and
// arithmetic on lengths stays far from overflow.
inline constexpr size_t kMaxItems = size_t{1} << 31;

// NULL is allowed for n = 0.
template <typename T>
Status CheckArray(const T* items, size_t n, const char* name) {
  if (items == nullptr && n != 0) {
    return ArgumentError("{}: got NULL with n {}, want a pointer", name, n);
  }
  if (n > kMaxItems) return ArgumentError("{}: n: got {}, want at most {}", name, n, kMaxItems);
  return OkStatus();
}

// Two-call protocol: the size needed always, the content where it fits.
template <typename T>
Status CopyOut(const T* data, size_t needed, const char* what, T* out, size_t capacity, size_t* n) {
  *n = needed;
  if (needed > capacity || (out == nullptr && needed != 0)) {
    return BufferError("{}: need room for {}, got {}", what, needed, capacity);
  }
  if (needed != 0) std::copy_n(data, needed, out);
  return OkStatus();
}

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_STRUCTS_H_

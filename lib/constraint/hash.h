// The hash of a few numbers, for tables that find equal things again. No result depends on it.
#ifndef KRAFLA_LIB_CONSTRAINT_HASH_H_
#define KRAFLA_LIB_CONSTRAINT_HASH_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace krafla {

inline uint64_t AddToHash(uint64_t hash, uint32_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

inline size_t MixHash(std::initializer_list<uint32_t> values) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (uint32_t value : values) hash = AddToHash(hash, value);
  return static_cast<size_t>(hash);
}

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_HASH_H_

// Special tokens in the automaton's bytes: 0xFF, which no UTF-8 has, and the id in four times six
// bits. So no text is one of them, whatever it says, and a grammar of our own can ask for one.
#ifndef KRAFLA_LIB_CONSTRAINT_SPECIAL_BYTES_H_
#define KRAFLA_LIB_CONSTRAINT_SPECIAL_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace krafla {

inline constexpr char kSpecialLead = '\xFF';
inline constexpr size_t kSpecialBytes = 5;

inline std::string SpecialBytes(int32_t id) {
  std::string bytes(1, kSpecialLead);
  for (int shift = 18; shift >= 0; shift -= 6) {
    bytes.push_back(static_cast<char>(0x80 | (id >> shift & 0x3F)));
  }
  return bytes;
}

// Of bytes that begin with kSpecialBytes of SpecialBytes.
inline int32_t SpecialId(std::string_view bytes) {
  int32_t id = 0;
  for (size_t i = 1; i < kSpecialBytes; ++i) id = id << 6 | (bytes[i] & 0x3F);
  return id;
}

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_SPECIAL_BYTES_H_

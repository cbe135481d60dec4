// UTF-8: validation, decoding one code point at a time, and cutting text at whole code points.
#ifndef KRAFLA_LIB_BASE_UTF8_H_
#define KRAFLA_LIB_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace krafla {

inline constexpr uint32_t kReplacementCharacter = 0xFFFD;

// One step of decoding. A malformed sequence gives kReplacementCharacter, valid = false and the
// length of its maximal ill-formed prefix (Unicode 15, section 3.9, "U+FFFD substitution of maximal
// subparts").
struct CodePoint {
  uint32_t value;
  uint32_t length;  // bytes consumed, >= 1 for non-empty text
  bool valid;
};
CodePoint DecodeUtf8(std::string_view text);  // text is not empty

// Offset of the first ill-formed byte, or text.size() if all is well formed.
size_t ValidUtf8Prefix(std::string_view text);

// Bytes at the end that may be the start of a code point still to be completed (0 to 3).
size_t IncompleteUtf8Suffix(std::string_view text);

void AppendUtf8(uint32_t code_point, std::string* out);

// Each maximal ill-formed subpart becomes U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace krafla

#endif  // KRAFLA_LIB_BASE_UTF8_H_

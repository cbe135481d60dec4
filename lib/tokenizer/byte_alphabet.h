// The byte alphabet of GPT-2: each byte has a visible character, so that a vocabulary of byte
// strings can be written as text ("\u0120the" is " the").
#ifndef KRAFLA_LIB_TOKENIZER_BYTE_ALPHABET_H_
#define KRAFLA_LIB_TOKENIZER_BYTE_ALPHABET_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace krafla {

uint32_t ByteLetter(uint8_t byte);
int ByteOfLetter(uint32_t letter);  // -1: not in the alphabet

void AppendByteLetters(std::string_view bytes, std::string* out);
// The bytes that the text spells, or the text itself where a character is not in the alphabet.
std::string BytesOfLetters(std::string_view text);

// "<0x41>" -> 0x41; -1 for any other text.
int ByteOfFallbackToken(std::string_view text);
std::string FallbackToken(uint8_t byte);

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_BYTE_ALPHABET_H_

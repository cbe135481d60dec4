// Code points of text known to be valid UTF-8, with the character classes and case maps of Python's
// str.
#ifndef KRAFLA_LIB_CHAT_CHARACTERS_H_
#define KRAFLA_LIB_CHAT_CHARACTERS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/chat/text.h"

namespace krafla::chat {

size_t CountCodePoints(std::string_view text);
// Byte offset of code point `index`; text.size() when there are fewer.
size_t CodePointOffset(std::string_view text, size_t index);
size_t NextCodePoint(std::string_view text, size_t offset);      // offset < size
size_t PreviousCodePoint(std::string_view text, size_t offset);  // offset > 0
uint32_t CodePointAt(std::string_view text, size_t offset);

bool IsSpace(uint32_t c);
bool IsAlpha(uint32_t c);
bool IsDigit(uint32_t c);
bool IsUpper(uint32_t c);
bool IsLower(uint32_t c);
bool IsPrintable(uint32_t c);  // str.isprintable()
bool IsLineBreak(uint32_t c);  // as str.splitlines() sees it

enum class Case { kUpper, kLower, kTitle };
// Appends one code point of `text`, mapped, with its own trust.
void AppendMapped(const Text& text, size_t offset, Case to, Text* out);
Text MapCase(const Text& text, Case to);

// [begin, end) left after stripping white space (chars == nullptr) or any of the characters of
// chars.
std::pair<size_t, size_t> StripRange(std::string_view text, const std::string_view* chars,
                                     bool left, bool right);
// The lines of text as byte ranges; line ends are kept only when keep_ends.
std::vector<std::pair<size_t, size_t>> SplitLines(std::string_view text, bool keep_ends);
// First occurrence at or after `from`, or npos; linear in the sizes, whatever the needle.
size_t FindText(std::string_view text, std::string_view needle, size_t from);

}  // namespace krafla::chat

#endif  // KRAFLA_LIB_CHAT_CHARACTERS_H_

// Character properties as Hugging Face's libraries have them: categories of Unicode 16
// (utf8proc 2.8 knows 14), normalisation by older tables. Each function names whose answer it must
// equal.
#ifndef KRAFLA_LIB_TOKENIZER_UNICODE_H_
#define KRAFLA_LIB_TOKENIZER_UNICODE_H_

#include <cstdint>
#include <span>
#include <string_view>

namespace krafla {

struct CategoryRange {
  uint32_t first, last;
  uint32_t category;  // utf8proc_category_t
};
// The ranges on which a library with Unicode 14 has the wrong category; ascending.
std::span<const CategoryRange> NewCategories();

uint32_t GeneralCategory(uint32_t code_point);  // utf8proc_category_t
// "Lu" <-> utf8proc_category_t; -1 for another name.
std::string_view CategoryName(uint32_t category);
int CategoryByName(std::string_view name);

bool IsWhiteSpace(uint32_t code_point);     // \s of Oniguruma and of Rust
bool IsNumeric(uint32_t code_point);        // Rust's char::is_numeric
bool IsWord(uint32_t code_point);           // \w of Rust's regex
bool IsPunctuation(uint32_t code_point);    // of pre-tokenizer Punctuation: ASCII's signs, too
bool IsCombiningMark(uint32_t code_point);  // what StripAccents takes away
// Rust's char::to_lowercase, but for U+0130, which becomes two characters.
uint32_t ToLower(uint32_t code_point);

// Normalisation leaves it alone and nothing moves or composes over it.
bool IsInert(uint32_t code_point);

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_UNICODE_H_

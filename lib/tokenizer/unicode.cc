// Lookups: utf8proc's tables, overridden by two short sorted range lists.
#include "lib/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace krafla {
namespace {

constexpr CategoryRange kNewCategories[] = {
#include "lib/tokenizer/unicode16.inc"
};

struct Range {
  uint32_t first, last;
};
constexpr Range kInert[] = {
#include "lib/tokenizer/inert.inc"
};
constexpr Range kNewerMarks[] = {
#include "lib/tokenizer/newer_marks.inc"
};
constexpr Range kNewerPunctuation[] = {
#include "lib/tokenizer/newer_punctuation.inc"
};

// Letters that got a small form after Unicode 14: each of first to last is `offset` away from it.
struct LowerRange {
  uint32_t first, last;
  int32_t offset;
};
constexpr LowerRange kNewerLower[] = {
    {0x1C89, 0x1C89, 1},      {0xA7CB, 0xA7CB, 0x264 - 0xA7CB},
    {0xA7CC, 0xA7CC, 1},      {0xA7CE, 0xA7CE, 1},
    {0xA7D2, 0xA7D2, 1},      {0xA7D4, 0xA7D4, 1},
    {0xA7DA, 0xA7DA, 1},      {0xA7DC, 0xA7DC, 0x19B - 0xA7DC},
    {0x10D50, 0x10D65, 0x20}, {0x16EA0, 0x16EB8, 27},
};

// The last range that starts at or before the code point, if it contains it.
template <typename T, size_t n>
const T* FindRange(const T (&ranges)[n], uint32_t code_point) {
  if (code_point < ranges[0].first) return nullptr;
  const T* next =
      std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                       [](uint32_t value, const T& range) { return value < range.first; });
  const T* range = next - 1;
  return code_point <= range->last ? range : nullptr;
}

constexpr std::string_view kCategoryNames[] = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

}  // namespace

std::span<const CategoryRange> NewCategories() { return kNewCategories; }

uint32_t GeneralCategory(uint32_t code_point) {
  if (const CategoryRange* range = FindRange(kNewCategories, code_point)) return range->category;
  return utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

std::string_view CategoryName(uint32_t category) { return kCategoryNames[category]; }

int CategoryByName(std::string_view name) {
  for (size_t i = 0; i < std::size(kCategoryNames); ++i) {
    if (kCategoryNames[i] == name) return static_cast<int>(i);
  }
  return -1;
}

bool IsWhiteSpace(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool IsNumeric(uint32_t c) {
  if (c < 0x80) return c >= '0' && c <= '9';
  // Rust follows Unicode 17, which has these on top.
  if ((c >= 0x11DE0 && c <= 0x11DE9) || (c >= 0x16FF4 && c <= 0x16FF6)) return true;
  const uint32_t category = GeneralCategory(c);
  return category == UTF8PROC_CATEGORY_ND || category == UTF8PROC_CATEGORY_NL ||
         category == UTF8PROC_CATEGORY_NO;
}

bool IsWord(uint32_t c) {
  if (c < 0x80) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  // Join controls, and the letters in circles and squares, which are symbols but alphabetic.
  if (c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
      (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
      (c >= 0x1F170 && c <= 0x1F189)) {
    return true;
  }
  const uint32_t category = GeneralCategory(c);
  return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NL) ||
         category == UTF8PROC_CATEGORY_PC;
}

bool IsPunctuation(uint32_t c) {
  if (c < 0x80) return c > ' ' && c < 0x7F && (c == '_' || !IsWord(c));
  // These two were punctuation before they became a symbol and a mark.
  if (c == 0x166D || c == 0x111C9) return true;
  if (FindRange(kNewCategories, c) != nullptr || FindRange(kNewerPunctuation, c) != nullptr) {
    return false;
  }
  const uint32_t category = GeneralCategory(c);
  return category >= UTF8PROC_CATEGORY_PC && category <= UTF8PROC_CATEGORY_PO;
}

bool IsCombiningMark(uint32_t c) {
  if (c < 0x300) return false;
  if (c == 0x1CF2 || c == 0x1CF3) return true;
  if (FindRange(kNewCategories, c) != nullptr || FindRange(kNewerMarks, c) != nullptr) {
    return false;
  }
  const uint32_t category = GeneralCategory(c);
  return category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
}

uint32_t ToLower(uint32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (const LowerRange* range = FindRange(kNewerLower, c)) {
    return static_cast<uint32_t>(static_cast<int32_t>(c) + range->offset);
  }
  return static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

// Hugging Face normalises by the tables of Unicode 9; what came later is unknown to it.
bool IsInert(uint32_t code_point) {
  return FindRange(kInert, code_point) != nullptr ||
         FindRange(kNewCategories, code_point) != nullptr;
}

}  // namespace krafla

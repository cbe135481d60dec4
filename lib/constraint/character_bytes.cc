// See character_bytes.h.
#include "lib/constraint/character_bytes.h"

#include <algorithm>

namespace krafla {
uint32_t CharacterBytes::Before(Step step, uint32_t to) {
  const auto [it, added] = tails_.try_emplace({0, step.first, step.last, to}, 0);
  if (added) {
    it->second = target_.AddNode();
    target_.AddEdge(it->second, step.first, step.last, to);
  }
  return it->second;
}

void CharacterBytes::AddUtf8(const CodePointSet& set, uint32_t from, uint32_t to) {
  for (const CodePointRange& range : set.ranges()) {
    // One length of encoding at a time.
    uint32_t first = range.first;
    for (uint32_t end : {0x7Fu, 0x7FFu, 0xFFFFu, kMaxCodePoint}) {
      if (first > end || first > range.last) continue;
      const uint32_t last = std::min(end, range.last);
      AddUtf8Range(first, last, from, to);
      first = last + 1;
    }
  }
}

// Splits a range of equal lengths until, from some byte on, every continuation byte is free.
void CharacterBytes::AddUtf8Range(uint32_t first, uint32_t last, uint32_t from, uint32_t to) {
  const int tails = first < 0x80 ? 0 : first < 0x800 ? 1 : first < 0x10000 ? 2 : 3;
  for (int i = 1; i <= tails; ++i) {
    const uint32_t mask = (1u << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      AddUtf8Range(first, first | mask, from, to);
      AddUtf8Range((first | mask) + 1, last, from, to);
      return;
    }
    if ((last & mask) != mask) {
      AddUtf8Range(first, (last & ~mask) - 1, from, to);
      AddUtf8Range(last & ~mask, last, from, to);
      return;
    }
  }
  static constexpr uint8_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
  for (int i = 0; i < tails; ++i) {
    const auto a = static_cast<uint8_t>(0x80 | ((first >> (6 * i)) & 0x3F));
    const auto b = static_cast<uint8_t>(0x80 | ((last >> (6 * i)) & 0x3F));
    to = Before({a, b}, to);
  }
  target_.AddEdge(from, static_cast<uint8_t>(kLead[tails] | (first >> (6 * tails))),
                  static_cast<uint8_t>(kLead[tails] | (last >> (6 * tails))), to);
}

void CharacterBytes::AddJson(const CodePointSet& set, uint32_t from, uint32_t to) {
  AddUtf8(set.Intersect(escaped_.Complement()), from, to);
  const CodePointSet escaped = set.Intersect(escaped_),
                     above = set.Intersect({{0x7F, kMaxCodePoint}});
  for (const CodePointRange& range : escaped.ranges()) {
    AddEscapes(range.first, range.last, from, to);
  }
  for (const CodePointRange& range : above.ranges()) {
    AddHex(range.first, range.last, from, to);
  }
}

// Of control characters, the quote and the backslash.
void CharacterBytes::AddEscapes(uint32_t first, uint32_t last, uint32_t from, uint32_t to) {
  for (uint32_t c = first; c <= last; ++c) {
    char letter = 0;
    switch (c) {
      case '\b':
        letter = 'b';
        break;
      case '\t':
        letter = 't';
        break;
      case '\n':
        letter = 'n';
        break;
      case '\f':
        letter = 'f';
        break;
      case '\r':
        letter = 'r';
        break;
      case '"':
      case '\\':
        letter = static_cast<char>(c);
        break;
      default:
        break;
    }
    if (letter == 0) {
      AddHex(c, c, from, to);
    } else {
      const auto byte = static_cast<uint8_t>(letter);
      target_.AddEdge(from, '\\', '\\', Before({byte, byte}, to));
    }
  }
}

void CharacterBytes::AddHex(uint32_t first, uint32_t last, uint32_t from, uint32_t to) {
  if (first > last) return;
  if (last < 0x10000) {
    // \u is a path of its own for each set of digits behind it.
    const uint32_t digits = target_.AddNode();
    AddHexDigits(first, last, 4, digits, to);
    target_.AddEdge(from, '\\', '\\', Before({'u', 'u'}, digits));
    return;
  }
  if (first < 0x10000) {
    AddHex(first, 0xFFFF, from, to);
    first = 0x10000;
  }
  // Two surrogates; the low one is free but at the ends of the range.
  const uint32_t a = first - 0x10000, b = last - 0x10000;
  const auto add = [&](uint32_t high, uint32_t high_end, uint32_t low, uint32_t low_end) {
    const uint32_t lows = target_.AddNode(), highs = target_.AddNode();
    AddHexDigits(0xDC00 + low, 0xDC00 + low_end, 4, lows, to);
    const uint32_t second = Before({'\\', '\\'}, Before({'u', 'u'}, lows));
    AddHexDigits(0xD800 + high, 0xD800 + high_end, 4, highs, second);
    target_.AddEdge(from, '\\', '\\', Before({'u', 'u'}, highs));
  };
  uint32_t high = a >> 10;
  const uint32_t high_end = b >> 10, low = a & 0x3FF, low_end = b & 0x3FF;
  if (high == high_end) return add(high, high, low, low_end);
  if (low != 0) add(high, high, low, 0x3FF), ++high;
  const bool cut = low_end != 0x3FF;
  if (high + (cut ? 1 : 0) <= high_end) add(high, high_end - (cut ? 1 : 0), 0, 0x3FF);
  if (cut) add(high_end, high_end, 0, low_end);
}

// The numbers in [first, last] as that many hexadecimal digits.
void CharacterBytes::AddHexDigits(uint32_t first, uint32_t last, int digits, uint32_t from,
                                  uint32_t to) {
  for (int i = 1; i < digits; ++i) {
    const uint32_t mask = (1u << (4 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      AddHexDigits(first, first | mask, digits, from, to);
      AddHexDigits((first | mask) + 1, last, digits, from, to);
      return;
    }
    if ((last & mask) != mask) {
      AddHexDigits(first, (last & ~mask) - 1, digits, from, to);
      AddHexDigits(last & ~mask, last, digits, from, to);
      return;
    }
  }
  for (int i = 0; i + 1 < digits; ++i) {
    to = HexBefore((first >> (4 * i)) & 15, (last >> (4 * i)) & 15, to);
  }
  const int shift = 4 * (digits - 1);
  AddHexEdges((first >> shift) & 15, (last >> shift) & 15, from, to);
}

uint32_t CharacterBytes::HexBefore(uint32_t first, uint32_t last, uint32_t to) {
  const auto [it, added] = tails_.try_emplace({1, first, last, to}, 0);
  if (added) {
    it->second = target_.AddNode();
    AddHexEdges(first, last, it->second, to);
  }
  return it->second;
}

void CharacterBytes::AddHexEdges(uint32_t first, uint32_t last, uint32_t from, uint32_t to) {
  if (first < 10) {
    target_.AddEdge(from, static_cast<uint8_t>('0' + first),
                    static_cast<uint8_t>('0' + std::min(last, 9u)), to);
  }
  if (last < 10) return;
  const uint32_t a = std::max(first, 10u) - 10, b = last - 10;
  for (const char letter : {'a', 'A'}) {
    target_.AddEdge(from, static_cast<uint8_t>(letter + a), static_cast<uint8_t>(letter + b), to);
  }
}

}  // namespace krafla

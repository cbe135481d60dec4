// The trie's unit: bits 0 to 7 the byte that led here, bit 8 whether a value hangs on it, bits 10
// to 30 the offset of its children (times 256 where bit 9 is set), bit 31 set in units that are
// values.
#include "lib/tokenizer/charsmap.h"

#include <utf8proc.h>

#include <cstring>

#include "lib/base/utf8.h"
#include "lib/tokenizer/head_tracker.h"

namespace krafla {
namespace {

constexpr size_t kUnitBytes = 4;
constexpr size_t kLongGrapheme = 6;  // bytes; from here on characters are looked up one by one

int CountCharacters(std::string_view text) {
  int n = 0;
  for (char c : text) n += (static_cast<uint8_t>(c) & 0xC0) != 0x80 ? 1 : 0;
  return n;
}

// Tells of a part of a text that became another, both perhaps of several characters.
void PutReplaced(std::string_view part, std::string_view by, HeadTracker* head) {
  if (head->done()) return;
  const int before = CountCharacters(part);
  int n = 0;
  for (size_t at = 0; at < by.size(); ++n) {
    const size_t length = DecodeUtf8(by.substr(at)).length;
    head->Put(length, n < before ? 0 : 1);
    at += length;
  }
  if (n < before) head->Remove(before - n);
}

size_t ChildOffset(uint32_t unit) { return static_cast<size_t>(unit >> 10) << ((unit >> 6) & 8); }

}  // namespace

StatusOr<Charsmap> Charsmap::Open(std::string_view blob) {
  Charsmap map;
  if (blob.empty()) return map;
  uint32_t trie_bytes = 0;
  if (blob.size() >= sizeof(trie_bytes)) std::memcpy(&trie_bytes, blob.data(), sizeof(trie_bytes));
  if (trie_bytes == 0 || trie_bytes % kUnitBytes != 0 ||
      trie_bytes > blob.size() - sizeof(trie_bytes)) {
    return FileError("tokenizer: Precompiled: a trie of {} bytes in a map of {}", trie_bytes,
                     blob.size());
  }
  map.trie_ = blob.substr(sizeof(trie_bytes), trie_bytes);
  map.texts_ = blob.substr(sizeof(trie_bytes) + trie_bytes);
  if (const size_t valid = ValidUtf8Prefix(map.texts_); valid != map.texts_.size()) {
    return FileError("tokenizer: Precompiled: its texts are not UTF-8 at byte {}", valid);
  }
  return map;
}

uint32_t Charsmap::Unit(size_t index) const {
  uint32_t unit = 0;
  if (index < trie_.size() / kUnitBytes) {
    std::memcpy(&unit, trie_.data() + index * kUnitBytes, kUnitBytes);
  }
  return unit;
}

bool Charsmap::Find(std::string_view text, std::string_view* replacement) const {
  if (trie_.empty()) return false;
  size_t node = ChildOffset(Unit(0));
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte == 0) return false;  // ends keys, is in none
    node ^= byte;
    const uint32_t unit = Unit(node);
    if ((unit & 0x800000FFu) != byte) return false;
    node ^= ChildOffset(unit);
    if ((unit >> 8 & 1) == 0) continue;
    const size_t begin = Unit(node) & 0x7FFFFFFFu;
    if (begin > texts_.size()) return false;
    const std::string_view rest = texts_.substr(begin);
    *replacement = rest.substr(0, rest.find('\0'));
    // A broken map may point into the middle of a character.
    return ValidUtf8Prefix(*replacement) == replacement->size();
  }
  return false;
}

Status Charsmap::Apply(const TrustedText& in, TrustedText* out) const {
  const std::string_view text = in.text;
  std::string_view replacement;
  HeadTracker head(in);
  for (size_t begin = 0; begin < text.size();) {
    // One grapheme: from begin to end.
    CodePoint c = DecodeUtf8(text.substr(begin));
    size_t end = begin + c.length;
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
      const CodePoint next = DecodeUtf8(text.substr(end));
      if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(c.value),
                                           static_cast<utf8proc_int32_t>(next.value), &state)) {
        break;
      }
      c = next;
      end += c.length;
    }
    if (end - begin < kLongGrapheme && Find(text.substr(begin, end - begin), &replacement)) {
      out->Replace(in, begin, end - begin, replacement);
      PutReplaced(text.substr(begin, end - begin), replacement, &head);
    } else {
      for (size_t at = begin; at < end;) {
        const size_t length = DecodeUtf8(text.substr(at)).length;
        if (Find(text.substr(at, length), &replacement)) {
          out->Replace(in, at, length, replacement);
          PutReplaced(text.substr(at, length), replacement, &head);
        } else {
          out->Append(in, at, length);
          head.Put(length, 0);
        }
        at += length;
      }
    }
    KRAFLA_RETURN_IF_ERROR(CheckGrowth(in, *out));
    begin = end;
  }
  out->head = head.Finish();
  return OkStatus();
}

}  // namespace krafla

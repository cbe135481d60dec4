// The records are sorted, so the candidates at a position are a range that narrows byte by byte;
// the work at one position is bounded by kMaxAddedTokenBytes.
#include "lib/tokenizer/added_tokens.h"

#include <algorithm>
#include <cstring>

#include "lib/base/utf8.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

// The character that ends at text[end]; end > 0, the text is valid.
uint32_t CodePointBefore(std::string_view text, size_t end, size_t* begin) {
  size_t at = end - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  *begin = at;
  return DecodeUtf8(text.substr(at, end - at)).value;
}

bool StandsAlone(std::string_view text, size_t begin, size_t end) {
  size_t unused;
  if (begin > 0 && IsWord(CodePointBefore(text, begin, &unused))) return false;
  return end == text.size() || !IsWord(DecodeUtf8(text.substr(end)).value);
}

}  // namespace

AddedTokens::AddedTokens(const TokenizerTable* table, std::span<const AddedRecord> records)
    : table_(table), records_(records) {
  for (const AddedRecord& r : records_) {
    ++first_byte_[static_cast<uint8_t>(table_->String(r.match, 1)[0]) + 1];
    has_special_ |= (r.flags & kAddedSpecial) != 0;
  }
  int n_first_bytes = 0;
  for (int b = 0; b < 256; ++b) {
    if (first_byte_[b + 1] != 0) {
      ++n_first_bytes;
      only_first_byte_ = b;
    }
    first_byte_[b + 1] += first_byte_[b];
  }
  if (n_first_bytes != 1) only_first_byte_ = -1;
}

const AddedRecord* AddedTokens::MatchAt(std::string_view text, size_t at, size_t max_bytes) const {
  const uint8_t first = static_cast<uint8_t>(text[at]);
  const AddedRecord* lo = records_.data() + first_byte_[first];
  const AddedRecord* hi = records_.data() + first_byte_[first + 1];
  const AddedRecord* best = nullptr;
  for (size_t depth = 1; lo != hi; ++depth) {
    // All of [lo, hi) share their first `depth` bytes with the text; the shortest comes first.
    if (lo->match_bytes == depth) {
      if (depth <= max_bytes) best = lo;
      if (++lo == hi) break;
    }
    if (at + depth >= text.size() || depth >= max_bytes) break;
    const uint8_t next = static_cast<uint8_t>(text[at + depth]);
    const auto byte = [&](const AddedRecord& r) {
      return static_cast<uint8_t>(table_->String(r.match, r.match_bytes)[depth]);
    };
    lo = std::partition_point(lo, hi, [&](const AddedRecord& r) { return byte(r) < next; });
    hi = std::partition_point(lo, hi, [&](const AddedRecord& r) { return byte(r) == next; });
  }
  return best;
}

// The next record at or behind *at that trust lets through. A special token without any trusted
// byte hides what overlaps it, as Hugging Face's encode_special_tokens does; one that is partly
// trusted is passed over for shorter and later ones, so that text cannot break a marker that stands
// beside it.
const AddedRecord* AddedTokens::FindAllowed(std::string_view text, const Trust& trust,
                                            size_t* at) const {
  while (*at < text.size()) {
    const uint8_t first = static_cast<uint8_t>(text[*at]);
    if (first_byte_[first] == first_byte_[first + 1]) {
      if (only_first_byte_ < 0) {
        ++*at;
        continue;
      }
      const void* found = std::memchr(text.data() + *at, only_first_byte_, text.size() - *at);
      if (found == nullptr) break;
      *at = static_cast<size_t>(static_cast<const char*>(found) - text.data());
    }
    const AddedRecord* match = MatchAt(text, *at, kMaxAddedTokenBytes);
    if (match != nullptr && (match->flags & kAddedSpecial) != 0 &&
        !trust.Touches(*at, *at + match->match_bytes)) {
      *at += match->match_bytes;
      continue;
    }
    while (match != nullptr && (match->flags & kAddedSpecial) != 0 &&
           !trust.Covers(*at, *at + match->match_bytes)) {
      match = MatchAt(text, *at, match->match_bytes - 1);
    }
    if (match != nullptr) return match;
    ++*at;
  }
  return nullptr;
}

void AddedTokens::Split(std::string_view text, const Trust& trust,
                        std::vector<AddedSpan>* spans) const {
  spans->clear();
  const auto size = static_cast<uint32_t>(text.size());
  uint32_t start = 0;  // what is before is in a span
  size_t at = 0;
  // The last run of white space that was walked: a token that is itself white space walks it once.
  size_t white_begin = 1, white_end = 0;
  while (const AddedRecord* match = records_.empty() ? nullptr : FindAllowed(text, trust, &at)) {
    size_t begin = at;
    size_t end = at + match->match_bytes;
    at = end;
    if ((match->flags & kAddedSingleWord) != 0 && !StandsAlone(text, begin, end)) continue;
    if ((match->flags & kAddedLeftStrip) != 0) {
      size_t before;
      while (begin > start && IsWhiteSpace(CodePointBefore(text, begin, &before))) begin = before;
      begin = std::max<size_t>(begin, start);
    }
    if ((match->flags & kAddedRightStrip) != 0) {
      if (end < white_begin || end > white_end) {
        white_begin = white_end = end;
        while (white_end < text.size()) {
          const CodePoint c = DecodeUtf8(text.substr(white_end));
          if (!IsWhiteSpace(c.value)) break;
          white_end += c.length;
        }
      }
      end = white_end;
    }
    if (start < begin) spans->push_back({start, static_cast<uint32_t>(begin), -1});
    spans->push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end),
                      static_cast<int32_t>(match->id)});
    start = static_cast<uint32_t>(end);
  }
  if (start < size) spans->push_back({start, size, -1});
}

}  // namespace krafla

// Text that remembers which of its bytes are trusted and which stand for the source's first
// character, as it is rewritten step by step.
#ifndef KRAFLA_LIB_TOKENIZER_TRUSTED_TEXT_H_
#define KRAFLA_LIB_TOKENIZER_TRUSTED_TEXT_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/status.h"

namespace krafla {

// One trust byte (0 or 1) for each byte of the text, or none where nobody asks.
struct TrustedText {
  std::string text;
  std::vector<uint8_t> trust;
  // So many bytes at the front come from the first character of the source (Hugging Face: their
  // original offset is 0); Metaspace puts its mark before those. None where that is gone.
  size_t head = 0;

  bool tracks() const { return !trust.empty(); }
  std::span<const uint8_t> Trust(size_t begin, size_t bytes) const {
    return std::span<const uint8_t>(trust).subspan(tracks() ? begin : 0, tracks() ? bytes : 0);
  }
  bool AllTrusted(size_t begin, size_t bytes) const {
    for (uint8_t t : Trust(begin, bytes)) {
      if (t == 0) return false;
    }
    return true;
  }
  // Copies a stretch of another text with what is known of it.
  void Append(const TrustedText& from, size_t begin, size_t bytes) {
    if (begin < from.head) head = text.size() + std::min(bytes, from.head - begin);
    text.append(from.text, begin, bytes);
    const std::span<const uint8_t> more = from.Trust(begin, bytes);
    trust.insert(trust.end(), more.begin(), more.end());
  }
  // What replaces a stretch of another text is trusted if all of that was. It belongs to the last
  // character of the stretch, or to the one before where the stretch is empty.
  void Replace(const TrustedText& from, size_t begin, size_t bytes, std::string_view by) {
    text.append(by);
    if (begin + bytes <= from.head) head = text.size();
    if (from.tracks()) trust.resize(text.size(), bytes != 0 && from.AllTrusted(begin, bytes));
  }
};

// A table may replace a letter by a book; a text grows by this much and no more. ArgumentError.
inline Status CheckGrowth(const TrustedText& in, const TrustedText& out) {
  const size_t limit = 64 * in.text.size() + 65536;
  if (out.text.size() <= limit) return OkStatus();
  return ArgumentError("tokenizer: normalised text exceeds {} bytes", limit);
}

}  // namespace krafla

#endif  // KRAFLA_LIB_TOKENIZER_TRUSTED_TEXT_H_

// Text that remembers which of its bytes are trusted, as it is rewritten step by step.
#ifndef KRAFLA_LIB_TOKENIZER_TRUSTED_TEXT_H_
#define KRAFLA_LIB_TOKENIZER_TRUSTED_TEXT_H_

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
  // Copies a stretch of another text with its trust.
  void Append(const TrustedText& from, size_t begin, size_t bytes) {
    text.append(from.text, begin, bytes);
    const std::span<const uint8_t> more = from.Trust(begin, bytes);
    trust.insert(trust.end(), more.begin(), more.end());
  }
  // What replaces a stretch of another text is trusted if all of that was.
  void Replace(const TrustedText& from, size_t begin, size_t bytes, std::string_view by) {
    text.append(by);
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

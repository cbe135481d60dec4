// Unicode forms over utf8proc's decomposition and composition, done in chunks that begin at a
// character which nothing before it can reorder or compose with. utf8proc's own ordering of
// combining marks is quadratic; here a chunk is sorted.
#include "lib/tokenizer/normalizer_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "lib/base/utf8.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

class FormNormalizer {
 public:
  FormNormalizer(StepKind kind, TrustedText* out)
      : compose_(kind == StepKind::kNfc || kind == StepKind::kNfkc),
        decompose_(static_cast<utf8proc_option_t>(
            UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
            (kind == StepKind::kNfkc || kind == StepKind::kNfkd ? UTF8PROC_COMPAT : 0))),
        out_(out) {}

  void Run(std::string_view text, std::span<const uint8_t> trust) {
    track_ = !trust.empty();
    out_->text.reserve(text.size() + text.size() / 8);
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = DecodeUtf8(text.substr(at));
      bool trusted = true;
      for (uint32_t i = 0; track_ && i < c.length; ++i) trusted &= trust[at + i] != 0;
      at += c.length;
      if (c.value < 0x80) {
        Flush();
        Push(static_cast<int32_t>(c.value), trusted);
      } else if (IsInert(c.value)) {
        Flush();
        Push(static_cast<int32_t>(c.value), trusted);
        Flush();
      } else {
        Decompose(c.value, trusted);
      }
    }
    Flush();
  }

 private:
  void Decompose(uint32_t c, bool trusted) {
    int32_t parts[64];
    int boundary = 0;
    const auto n = utf8proc_decompose_char(static_cast<int32_t>(c), parts, std::size(parts),
                                           decompose_, &boundary);
    if (n <= 0 || n > static_cast<utf8proc_ssize_t>(std::size(parts))) {
      parts[0] = static_cast<int32_t>(c);  // no known character is this long
    }
    const size_t count = n <= 0 || n > static_cast<utf8proc_ssize_t>(std::size(parts)) ? 1 : n;
    for (size_t i = 0; i < count; ++i) {
      if (StartsChunk(parts[i])) Flush();
      Push(parts[i], trusted);
    }
  }

  // Second halves of compositions are marks or Hangul vowels and finals.
  static bool StartsChunk(int32_t c) {
    if (c >= 0x1160 && c <= 0x11FF) return false;
    const utf8proc_property_t* property = utf8proc_get_property(c);
    return property->combining_class == 0 && property->category != UTF8PROC_CATEGORY_MN &&
           property->category != UTF8PROC_CATEGORY_MC;
  }

  void Push(int32_t c, bool trusted) {
    chunk_.push_back(c);
    chunk_trusted_ &= trusted;
  }

  void Flush() {
    if (chunk_.empty()) return;
    if (chunk_.size() > 1) {
      Order();
      if (compose_) {
        const auto n = utf8proc_normalize_utf32(
            chunk_.data(), static_cast<utf8proc_ssize_t>(chunk_.size()),
            static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
        if (n >= 0) chunk_.resize(static_cast<size_t>(n));
      }
    }
    for (int32_t c : chunk_) AppendUtf8(static_cast<uint32_t>(c), &out_->text);
    if (track_) out_->trust.resize(out_->text.size(), chunk_trusted_);
    chunk_.clear();
    chunk_trusted_ = true;
  }

  // Stable order by combining class within each run of non-starters.
  void Order() {
    const auto ccc = [](int32_t c) { return utf8proc_get_property(c)->combining_class; };
    for (size_t i = 0; i < chunk_.size();) {
      size_t end = i;
      while (end < chunk_.size() && ccc(chunk_[end]) != 0) ++end;
      if (end - i > 1) {
        std::stable_sort(chunk_.begin() + i, chunk_.begin() + end,
                         [&](int32_t a, int32_t b) { return ccc(a) < ccc(b); });
      }
      i = end + 1;
    }
  }

  const bool compose_;
  const utf8proc_option_t decompose_;
  TrustedText* out_;
  bool track_ = false;
  std::vector<int32_t> chunk_;
  bool chunk_trusted_ = true;
};

}  // namespace

void NormalizeForm(StepKind form, const TrustedText& in, TrustedText* out) {
  FormNormalizer(form, out).Run(in.text, in.trust);
}

}  // namespace krafla

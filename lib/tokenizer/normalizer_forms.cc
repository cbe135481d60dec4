// Unicode forms over utf8proc's decomposition and composition, done in chunks that begin at a
// character which nothing before it can reorder or compose with. utf8proc's own ordering of
// combining marks is quadratic; here a chunk is sorted.
#include "lib/tokenizer/normalizer_forms.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "lib/base/utf8.h"
#include "lib/tokenizer/head_tracker.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

class FormNormalizer {
 public:
  FormNormalizer(StepKind kind, const TrustedText& in, TrustedText* out)
      : compose_(kind == StepKind::kNfc || kind == StepKind::kNfkc),
        decompose_(static_cast<utf8proc_option_t>(
            UTF8PROC_DECOMPOSE | UTF8PROC_STABLE |
            (kind == StepKind::kNfkc || kind == StepKind::kNfkd ? UTF8PROC_COMPAT : 0))),
        in_(in),
        out_(out),
        track_(in.tracks()),
        head_(in) {}

  void Run() {
    const std::string_view text = in_.text;
    out_->text.reserve(text.size() + text.size() / 8);
    for (size_t at = 0; at < text.size();) {
      const CodePoint c = DecodeUtf8(text.substr(at));
      const bool trusted = !track_ || in_.AllTrusted(at, c.length);
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
    out_->head = head_.Finish();
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
      Push(parts[i], trusted, i == 0 ? 0 : 1);
    }
  }

  // Second halves of compositions are marks or Hangul vowels and finals.
  static bool StartsChunk(int32_t c) {
    if (c >= 0x1160 && c <= 0x11FF) return false;
    const utf8proc_property_t* property = utf8proc_get_property(c);
    return property->combining_class == 0 && property->category != UTF8PROC_CATEGORY_MN &&
           property->category != UTF8PROC_CATEGORY_MC;
  }

  void Push(int32_t c, bool trusted, int change = 0) {
    chunk_.push_back(c);
    if (!head_.done()) changes_.push_back(change);
    chunk_trusted_ &= trusted;
  }

  void Flush() {
    if (chunk_.empty()) return;
    const bool followed = !head_.done();
    if (followed) FollowHead();
    if (chunk_.size() > 1) {
      if (!followed) Order(&chunk_);
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
    changes_.clear();
    chunk_trusted_ = true;
  }

  static int Class(int32_t c) { return utf8proc_get_property(c)->combining_class; }

  struct Part {
    int32_t c;
    int change;  // as HeadTracker::Put wants it
  };
  static int Class(const Part& part) { return Class(part.c); }

  // Stable order by combining class within each run of non-starters.
  template <typename Character>
  static void Order(std::vector<Character>* chunk) {
    for (size_t i = 0; i < chunk->size();) {
      size_t end = i;
      while (end < chunk->size() && Class((*chunk)[end]) != 0) ++end;
      if (end - i > 1) {
        std::stable_sort(
            chunk->begin() + i, chunk->begin() + end,
            [](const Character& a, const Character& b) { return Class(a) < Class(b); });
      }
      i = end + 1;
    }
  }

  // Orders the chunk and composes a copy of it, a character at a time, for what utf8proc does not
  // tell: which characters of the source each one comes from. Only done where the text begins.
  void FollowHead() {
    std::vector<Part> parts, composed;
    for (size_t i = 0; i < chunk_.size(); ++i) parts.push_back({chunk_[i], changes_[i]});
    Order(&parts);
    for (size_t i = 0; i < chunk_.size(); ++i) chunk_[i] = parts[i].c;
    size_t starter = parts.size();  // in composed: what the next character may compose with
    for (const Part& part : parts) {
      if (compose_ && starter < composed.size()) {
        const bool beside = starter + 1 == composed.size();
        if (beside || Class(composed.back()) < Class(part)) {
          int32_t pair[2] = {composed[starter].c, part.c};
          if (utf8proc_normalize_utf32(
                  pair, 2, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE)) ==
              1) {
            composed[starter].c = pair[0];
            composed[starter].change += part.change - 1;
            continue;
          }
        }
      }
      if (Class(part) == 0) starter = composed.size();
      composed.push_back(part);
    }
    for (const Part& part : composed) {
      const auto c = static_cast<uint32_t>(part.c);
      head_.Put(c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, part.change);
    }
  }

  const bool compose_;
  const utf8proc_option_t decompose_;
  const TrustedText& in_;
  TrustedText* out_;
  const bool track_;
  HeadTracker head_;
  std::vector<int32_t> chunk_;
  std::vector<int> changes_;  // Part::change of each of chunk_, until the head is done
  bool chunk_trusted_ = true;
};

}  // namespace

void NormalizeForm(StepKind form, const TrustedText& in, TrustedText* out) {
  FormNormalizer(form, in, out).Run();
}

}  // namespace krafla

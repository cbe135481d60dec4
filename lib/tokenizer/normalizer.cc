// Unicode forms over utf8proc's decomposition and composition, done in chunks that begin at a
// character which nothing before it can reorder or compose with. utf8proc's own ordering of
// combining marks is quadratic; here a chunk is sorted.
#include "lib/tokenizer/normalizer.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

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

bool AllTrusted(std::span<const uint8_t> trust) {
  return std::all_of(trust.begin(), trust.end(), [](uint8_t t) { return t != 0; });
}

Status Replace(const StepView& step, std::string_view text, std::span<const uint8_t> trust,
               TrustedText* out) {
  // A table may replace a letter by a book; a text grows by this much and no more.
  const size_t limit = 64 * text.size() + 65536;
  for (size_t at = 0; at < text.size();) {
    const size_t found = step.text.empty() ? text.npos : text.find(step.text, at);
    const size_t end = std::min(found, text.size());
    out->text.append(text, at, end - at);
    if (!trust.empty()) {
      out->trust.insert(out->trust.end(), trust.begin() + at, trust.begin() + end);
    }
    if (found == text.npos) break;
    out->text.append(step.text2);
    if (!trust.empty()) {
      out->trust.resize(out->text.size(), AllTrusted(trust.subspan(found, step.text.size())));
    }
    if (out->text.size() > limit) {
      return ArgumentError("tokenizer: normalised text exceeds {} bytes", limit);
    }
    at = found + step.text.size();
  }
  return OkStatus();
}

void Prepend(const StepView& step, std::string_view text, std::span<const uint8_t> trust,
             TrustedText* out) {
  if (text.empty()) return;
  out->text.append(step.text).append(text);
  if (trust.empty()) return;
  out->trust.assign(step.text.size(), trust[0]);
  out->trust.insert(out->trust.end(), trust.begin(), trust.end());
}

void Strip(const StepView& step, std::string_view text, std::span<const uint8_t> trust,
           TrustedText* out) {
  size_t begin = 0, end = 0;
  bool started = (step.flags & kStripLeft) == 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = DecodeUtf8(text.substr(at));
    const bool white = IsWhiteSpace(c.value);
    if (!started && !white) {
      started = true;
      begin = at;
    }
    at += c.length;
    if (!white || (step.flags & kStripRight) == 0) end = at;
  }
  if (!started || end < begin) begin = end = 0;
  out->text = text.substr(begin, end - begin);
  if (!trust.empty()) out->trust.assign(trust.begin() + begin, trust.begin() + end);
}

}  // namespace

std::vector<StepView> ViewSteps(std::span<const Step> steps) {
  std::vector<StepView> views;
  for (const Step& s : steps) views.push_back({s.kind, s.flags, s.arg, s.text, s.text2});
  return views;
}

std::vector<StepView> ViewSteps(const TokenizerTable& table, int program) {
  std::vector<StepView> views;
  for (const StepRecord& s : table.steps(program)) {
    views.push_back({static_cast<StepKind>(s.kind), s.flags, s.arg,
                     table.String(s.text, s.text_bytes), table.String(s.text2, s.text2_bytes)});
  }
  return views;
}

Status Normalizer::Normalize(std::string_view text, std::span<const uint8_t> trust,
                             TrustedText* out) const {
  out->text = text;
  out->trust.assign(trust.begin(), trust.end());
  TrustedText next;
  for (const StepView& step : steps_) {
    next.text.clear();
    next.trust.clear();
    switch (step.kind) {
      case StepKind::kReplace:
        KRAFLA_RETURN_IF_ERROR(Replace(step, out->text, out->trust, &next));
        break;
      case StepKind::kPrepend:
        Prepend(step, out->text, out->trust, &next);
        break;
      case StepKind::kStrip:
        Strip(step, out->text, out->trust, &next);
        break;
      default:
        FormNormalizer(step.kind, &next).Run(out->text, out->trust);
        break;
    }
    std::swap(*out, next);
  }
  return OkStatus();
}

Status Normalizer::Normalize(std::string_view text, std::string* out) const {
  TrustedText result;
  KRAFLA_RETURN_IF_ERROR(Normalize(text, {}, &result));
  *out = std::move(result.text);
  return OkStatus();
}

}  // namespace krafla

// One function a step kind; the Unicode forms and SentencePiece's map have files of their own.
#include "lib/tokenizer/normalizer.h"

#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/tokenizer/normalizer_forms.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

Status ReplaceLiteral(const StepView& step, const TrustedText& in, TrustedText* out) {
  for (size_t at = 0; at < in.text.size();) {
    const size_t found = step.text.empty() ? in.text.npos : in.text.find(step.text, at);
    out->Append(in, at, std::min(found, in.text.size()) - at);
    if (found == in.text.npos) break;
    out->Replace(in, found, step.text.size(), step.text2);
    KRAFLA_RETURN_IF_ERROR(CheckGrowth(in, *out));
    at = found + step.text.size();
  }
  return OkStatus();
}

Status ReplacePattern(const Pattern& pattern, std::string_view by, const TrustedText& in,
                      TrustedText* out) {
  if (in.text.empty()) return OkStatus();  // not even an empty match
  PatternScratch scratch;
  Pattern::Matches matches(pattern, in.text, &scratch);
  size_t at = 0, begin = 0, end = 0;
  for (;;) {
    KRAFLA_ASSIGN_OR_RETURN(const bool found, matches.Next(&begin, &end));
    if (!found) break;
    out->Append(in, at, begin - at);
    out->Replace(in, begin, end - begin, by);
    KRAFLA_RETURN_IF_ERROR(CheckGrowth(in, *out));
    at = end;
  }
  out->Append(in, at, in.text.size() - at);
  return OkStatus();
}

void Prepend(const StepView& step, const TrustedText& in, TrustedText* out) {
  if (in.text.empty()) return;
  out->text = step.text;
  if (in.tracks()) out->trust.assign(step.text.size(), in.trust[0]);
  out->Append(in, 0, in.text.size());  // its head counts what is before it
}

void Strip(const StepView& step, const TrustedText& in, TrustedText* out) {
  const std::string_view text = in.text;
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
  if (started && end > begin) out->Append(in, begin, end - begin);
}

// Rewrites character by character: write(character, &text) appends what it becomes.
template <typename Write>
void RewriteCharacters(const TrustedText& in, TrustedText* out, Write write) {
  out->text.reserve(in.text.size());
  for (size_t at = 0; at < in.text.size();) {
    const CodePoint c = DecodeUtf8(std::string_view(in.text).substr(at));
    write(c.value, &out->text);
    if (at < in.head) out->head = out->text.size();
    if (in.tracks()) out->trust.resize(out->text.size(), in.AllTrusted(at, c.length));
    at += c.length;
  }
}

void Lowercase(uint32_t c, std::string* text) {
  constexpr uint32_t kDottedI = 0x130;
  if (c == kDottedI) {
    text->append("i\u0307");
  } else {
    AppendUtf8(ToLower(c), text);
  }
}

void StripAccent(uint32_t c, std::string* text) {
  if (!IsCombiningMark(c)) AppendUtf8(c, text);
}

// SentencePiece's rules of before it had maps of characters.
void CleanNmt(uint32_t c, std::string* text) {
  const bool gone = (c >= 1 && c <= 8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F ||
                    c == 0x8F || c == 0x9F;
  const bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                     (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                     c == 0xFEFF || c == 0xFFFD;
  if (!gone) AppendUtf8(space ? ' ' : c, text);
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

StatusOr<Normalizer> Normalizer::Make(std::vector<StepView> steps, std::string_view charsmap) {
  Normalizer result;
  for (const StepView& step : steps) {
    std::unique_ptr<Pattern> pattern;
    if (step.kind == StepKind::kReplaceRegex) {
      KRAFLA_ASSIGN_OR_RETURN(pattern, Pattern::Compile(step.text));
    }
    result.steps_.push_back({step, std::move(pattern)});
  }
  KRAFLA_ASSIGN_OR_RETURN(result.charsmap_, Charsmap::Open(charsmap));
  return result;
}

Status Normalizer::RunStep(const CompiledStep& compiled, const TrustedText& in,
                           TrustedText* out) const {
  const StepView& step = compiled.step;
  switch (step.kind) {
    case StepKind::kReplace:
      return ReplaceLiteral(step, in, out);
    case StepKind::kReplaceRegex:
      return ReplacePattern(*compiled.pattern, step.text2, in, out);
    case StepKind::kPrepend:
      Prepend(step, in, out);
      return OkStatus();
    case StepKind::kStrip:
      Strip(step, in, out);
      return OkStatus();
    case StepKind::kLowercase:
      RewriteCharacters(in, out, Lowercase);
      return OkStatus();
    case StepKind::kStripAccents:
      RewriteCharacters(in, out, StripAccent);
      return OkStatus();
    case StepKind::kNmt:
      RewriteCharacters(in, out, CleanNmt);
      return OkStatus();
    case StepKind::kPrecompiled:
      return charsmap_.Apply(in, out);
    default:
      NormalizeForm(step.kind, in, out);
      return OkStatus();
  }
}

Status Normalizer::Normalize(std::string_view text, std::span<const uint8_t> trust, bool at_start,
                             TrustedText* out) const {
  out->text = text;
  out->trust.assign(trust.begin(), trust.end());
  out->head = at_start && !text.empty() ? DecodeUtf8(text).length : 0;
  TrustedText next;
  for (const CompiledStep& step : steps_) {
    next.text.clear();
    next.trust.clear();
    next.head = 0;
    KRAFLA_RETURN_IF_ERROR(RunStep(step, *out, &next));
    std::swap(*out, next);
  }
  return OkStatus();
}

Status Normalizer::Normalize(std::string_view text, std::string* out) const {
  TrustedText result;
  KRAFLA_RETURN_IF_ERROR(Normalize(text, {}, false, &result));
  *out = std::move(result.text);
  return OkStatus();
}

}  // namespace krafla

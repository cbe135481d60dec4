// One function a step kind. Cutting follows Hugging Face's find_matches and split: a list of
// stretches, each a match or not, folded by the behaviour; what is empty is dropped at the end.
#include "lib/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/tokenizer/byte_alphabet.h"
#include "lib/tokenizer/unicode.h"

namespace krafla {
namespace {

constexpr size_t kMaxText = size_t{1} << 31;

// Folds stretches into words.
class Folder {
 public:
  Folder(SplitBehavior behavior, bool invert, std::vector<WordRange>* out)
      : behavior_(behavior), invert_(invert), out_(out), first_(out->size()) {}

  void Add(size_t begin, size_t end, bool is_match) {
    is_match ^= invert_;
    const WordRange range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
    const bool has_last = out_->size() > first_;
    switch (behavior_) {
      case SplitBehavior::kRemoved:
        if (!is_match) out_->push_back(range);
        break;
      case SplitBehavior::kIsolated:
        out_->push_back(range);
        break;
      case SplitBehavior::kContiguous:
        if (has_last && is_match == last_is_match_) {
          out_->back().end = range.end;
        } else {
          out_->push_back(range);
        }
        break;
      case SplitBehavior::kMergedWithPrevious:
        if (has_last && is_match && !last_is_match_) {
          out_->back().end = range.end;
        } else {
          out_->push_back(range);
        }
        break;
      case SplitBehavior::kMergedWithNext:
        if (has_last && !is_match && last_is_match_) {
          out_->back().end = range.end;
        } else {
          out_->push_back(range);
        }
        break;
    }
    last_is_match_ = is_match;
  }

  void Finish() {
    out_->erase(std::remove_if(out_->begin() + static_cast<ptrdiff_t>(first_), out_->end(),
                               [](const WordRange& r) { return r.begin == r.end; }),
                out_->end());
  }

 private:
  const SplitBehavior behavior_;
  const bool invert_;
  std::vector<WordRange>* out_;
  const size_t first_;
  bool last_is_match_ = false;
};

Status SplitByPattern(const Pattern& pattern, SplitBehavior behavior, bool invert, Words* words) {
  for (const WordRange& range : words->ranges) {
    const std::string_view text = words->text.substr(range.begin, range.end - range.begin);
    Folder folder(behavior, invert, &words->next_ranges);
    Pattern::Matches matches(pattern, text, &words->pattern_scratch);
    size_t previous = 0, begin = 0, end = 0;
    for (;;) {
      KRAFLA_ASSIGN_OR_RETURN(const bool found, matches.Next(&begin, &end));
      if (!found) break;
      if (previous != begin) folder.Add(range.begin + previous, range.begin + begin, false);
      folder.Add(range.begin + begin, range.begin + end, true);
      previous = end;
    }
    if (previous != text.size()) folder.Add(range.begin + previous, range.end, false);
    folder.Finish();
  }
  std::swap(words->ranges, words->next_ranges);
  return OkStatus();
}

void SplitByLiteral(std::string_view literal, SplitBehavior behavior, bool invert, Words* words) {
  for (const WordRange& range : words->ranges) {
    const std::string_view text = words->text.substr(range.begin, range.end - range.begin);
    Folder folder(behavior, invert, &words->next_ranges);
    size_t previous = 0;
    while (!literal.empty()) {
      const size_t at = text.find(literal, previous);
      if (at == text.npos) break;
      if (previous != at) folder.Add(range.begin + previous, range.begin + at, false);
      folder.Add(range.begin + at, range.begin + at + literal.size(), true);
      previous = at + literal.size();
    }
    if (previous != text.size()) folder.Add(range.begin + previous, range.end, false);
    folder.Finish();
  }
  std::swap(words->ranges, words->next_ranges);
}

// Every character that `is_match` likes is a match of its own.
template <typename IsMatch>
void SplitByCharacter(SplitBehavior behavior, Words* words, IsMatch is_match) {
  for (const WordRange& range : words->ranges) {
    Folder folder(behavior, false, &words->next_ranges);
    uint32_t previous = range.begin;
    for (uint32_t at = range.begin; at < range.end;) {
      const CodePoint c = DecodeUtf8(words->text.substr(at, range.end - at));
      if (is_match(c.value)) {
        if (previous != at) folder.Add(previous, at, false);
        folder.Add(at, at + c.length, true);
        previous = at + c.length;
      }
      at += c.length;
    }
    if (previous != range.end) folder.Add(previous, range.end, false);
    folder.Finish();
  }
  std::swap(words->ranges, words->next_ranges);
}

// Runs of word characters, and runs of what is neither that nor white space.
void SplitWhitespace(Words* words) {
  for (const WordRange& range : words->ranges) {
    int last = 0;  // the class of the run that is open; 0: white space
    for (uint32_t at = range.begin; at < range.end;) {
      const CodePoint c = DecodeUtf8(words->text.substr(at, range.end - at));
      const int now = IsWord(c.value) ? 1 : IsWhiteSpace(c.value) ? 0 : 2;
      if (now != 0) {
        if (now != last) words->next_ranges.push_back({at, at});
        words->next_ranges.back().end = at + c.length;
      }
      last = now;
      at += c.length;
    }
  }
  std::swap(words->ranges, words->next_ranges);
}

// Rewrites every word: what prefix(word, whether it begins in the head) gives, then what
// write(characters, &buffer) appends for its characters.
template <typename Prefix, typename Write>
Status Rewrite(Words* words, Prefix prefix, Write write) {
  size_t head = 0;
  words->next_buffer.clear();
  words->next_buffer.reserve(words->text.size() + words->text.size() / 4);
  for (WordRange& range : words->ranges) {
    const size_t begin = words->next_buffer.size();
    const std::string_view word = words->text.substr(range.begin, range.end - range.begin);
    const size_t in_head =
        std::min(words->head - std::min<size_t>(words->head, range.begin), word.size());
    words->next_buffer.append(prefix(word, in_head != 0));
    write(word.substr(0, in_head), &words->next_buffer);
    if (in_head != 0) head = words->next_buffer.size();
    write(word.substr(in_head), &words->next_buffer);
    if (words->next_buffer.size() >= kMaxText) {
      return ArgumentError("tokenizer: the text grows to 2 GiB or more");
    }
    range = {static_cast<uint32_t>(begin), static_cast<uint32_t>(words->next_buffer.size())};
  }
  std::swap(words->buffer, words->next_buffer);
  words->text = words->buffer;
  words->head = head;
  return OkStatus();
}

Status ReplaceSpaces(const StepView& step, Words* words) {
  const auto scheme = static_cast<PrependScheme>(step.arg);
  const auto prefix = [&](std::string_view word, bool in_head) -> std::string_view {
    const bool prepends =
        scheme == PrependScheme::kAlways || (scheme == PrependScheme::kFirst && in_head);
    return prepends && !word.starts_with(step.text) && !word.starts_with(' ') ? step.text : "";
  };
  return Rewrite(words, prefix, [&](std::string_view characters, std::string* out) {
    for (char c : characters) {
      if (c == ' ') {
        out->append(step.text);
      } else {
        out->push_back(c);
      }
    }
  });
}

}  // namespace

StatusOr<PreTokenizer> PreTokenizer::Make(std::vector<StepView> steps) {
  PreTokenizer result;
  for (StepView& step : steps) {
    std::string_view source;
    if (step.kind == StepKind::kSplitRegex) source = step.text;
    if (step.kind == StepKind::kByteLevel && (step.flags & kUseRegex) != 0) source = kGpt2Pattern;
    if ((step.kind == StepKind::kSplitRegex || step.kind == StepKind::kSplitLiteral ||
         step.kind == StepKind::kPunctuation) &&
        step.arg > static_cast<uint32_t>(SplitBehavior::kContiguous)) {
      return UnsupportedError("tokenizer: {}: unknown behaviour {}", StepName(step.kind), step.arg);
    }
    if (step.kind == StepKind::kMetaspace && (step.text.empty() || step.text.size() > 4)) {
      return FileError("tokenizer: Metaspace: replacement of {} bytes, want one character",
                       step.text.size());
    }
    std::unique_ptr<Pattern> pattern;
    if (!source.empty()) {
      KRAFLA_ASSIGN_OR_RETURN(pattern, Pattern::Compile(source));
    }
    result.steps_.push_back({step, std::move(pattern)});
  }
  result.gives_bytes_ = !steps.empty() && steps.back().kind == StepKind::kByteLevel;
  return result;
}

Status PreTokenizer::Run(std::string_view text, size_t head, Words* words) const {
  words->text = text;
  words->head = head;
  words->ranges.clear();
  if (!text.empty()) words->ranges.push_back({0, static_cast<uint32_t>(text.size())});
  for (size_t i = 0; i < steps_.size(); ++i) {
    KRAFLA_RETURN_IF_ERROR(RunStep(steps_[i], i + 1 == steps_.size(), words));
  }
  return OkStatus();
}

Status PreTokenizer::RunStep(const CompiledStep& compiled, bool is_last, Words* words) const {
  const StepView& step = compiled.step;
  words->next_ranges.clear();
  switch (step.kind) {
    case StepKind::kDigits:
      SplitByCharacter((step.flags & kIndividualDigits) != 0 ? SplitBehavior::kIsolated
                                                             : SplitBehavior::kContiguous,
                       words, IsNumeric);
      return OkStatus();
    case StepKind::kPunctuation:
      SplitByCharacter(static_cast<SplitBehavior>(step.arg), words, IsPunctuation);
      return OkStatus();
    case StepKind::kWhitespaceSplit:
      SplitByCharacter(SplitBehavior::kRemoved, words, IsWhiteSpace);
      return OkStatus();
    case StepKind::kWhitespace:
      SplitWhitespace(words);
      return OkStatus();
    case StepKind::kSplitLiteral:
      SplitByLiteral(step.text, static_cast<SplitBehavior>(step.arg), (step.flags & kInvert) != 0,
                     words);
      return OkStatus();
    case StepKind::kSplitRegex:
      if (compiled.pattern == nullptr) return OkStatus();  // the empty pattern cuts nothing
      return SplitByPattern(*compiled.pattern, static_cast<SplitBehavior>(step.arg),
                            (step.flags & kInvert) != 0, words);
    case StepKind::kMetaspace:
      KRAFLA_RETURN_IF_ERROR(ReplaceSpaces(step, words));
      if ((step.flags & kMetaspaceSplit) != 0) {
        SplitByLiteral(step.text, SplitBehavior::kMergedWithNext, false, words);
      }
      return OkStatus();
    case StepKind::kByteLevel:
      if ((step.flags & kAddPrefixSpace) != 0) {
        KRAFLA_RETURN_IF_ERROR(Rewrite(
            words, [](std::string_view word, bool) { return word.starts_with(' ') ? "" : " "; },
            [](std::string_view characters, std::string* out) { out->append(characters); }));
      }
      if (compiled.pattern != nullptr) {
        KRAFLA_RETURN_IF_ERROR(
            SplitByPattern(*compiled.pattern, SplitBehavior::kIsolated, false, words));
      }
      if (is_last) return OkStatus();
      return Rewrite(
          words, [](std::string_view, bool) { return ""; }, AppendByteLetters);
    default:
      return InternalError("tokenizer: {} is no pre-tokenizer", StepName(step.kind));
  }
}

}  // namespace krafla

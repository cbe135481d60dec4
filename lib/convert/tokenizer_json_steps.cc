// Absent members have the defaults that Hugging Face's `tokenizers` gives them, which are not
// always false: ByteLevel adds a space and splits by its own pattern unless told otherwise.
#include "lib/convert/tokenizer_json_steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "lib/tokenizer/table.h"

namespace krafla::tokenizer_json {
namespace {

// {"String": ...} or {"Regex": ...}.
Status ReadPattern(const element& step, bool* is_regex, std::string* text) {
  element pattern;
  std::string_view value;
  if (step["pattern"].get(pattern) != simdjson::SUCCESS) return Bad("a step without pattern");
  *is_regex = pattern["Regex"].get(value) == simdjson::SUCCESS;
  if (!*is_regex && pattern["String"].get(value) != simdjson::SUCCESS) {
    return Bad("a pattern that is neither String nor Regex");
  }
  *text = value;
  return OkStatus();
}

Status ReadPrependScheme(const element& e, uint32_t* scheme) {
  const auto name = Get<std::string_view>(
      e, "prepend_scheme", Get<bool>(e, "add_prefix_space", true) ? "always" : "never");
  if (name == "always") {
    *scheme = static_cast<uint32_t>(PrependScheme::kAlways);
  } else if (name == "first") {
    *scheme = static_cast<uint32_t>(PrependScheme::kFirst);
  } else if (name == "never") {
    *scheme = static_cast<uint32_t>(PrependScheme::kNever);
  } else {
    return UnsupportedError("tokenizer.json: prepend_scheme {} is not supported", name);
  }
  return OkStatus();
}

Status ReadBehavior(const element& e, std::string_view fallback, uint32_t* behavior) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const auto wanted = Get<std::string_view>(e, "behavior", fallback);
  for (const auto& [name, value] : kBehaviors) {
    if (name != wanted) continue;
    *behavior = static_cast<uint32_t>(value);
    return OkStatus();
  }
  return UnsupportedError("tokenizer.json: {} behavior {} is not supported", TypeOf(e), wanted);
}

Status ReadSplit(const element& e, std::vector<Step>* out) {
  bool is_regex;
  Step step{StepKind::kSplitRegex, Get<bool>(e, "invert", false) ? kInvert : 0, 0, "", ""};
  KRAFLA_RETURN_IF_ERROR(ReadPattern(e, &is_regex, &step.text));
  if (!is_regex) step.kind = StepKind::kSplitLiteral;
  KRAFLA_RETURN_IF_ERROR(ReadBehavior(e, "", &step.arg));
  out->push_back(std::move(step));
  return OkStatus();
}

Status ReadPunctuation(const element& e, std::vector<Step>* out) {
  Step step{StepKind::kPunctuation, 0, 0, "", ""};
  KRAFLA_RETURN_IF_ERROR(ReadBehavior(e, "Isolated", &step.arg));
  out->push_back(std::move(step));
  return OkStatus();
}

// Base64 with padding, as the file has it.
bool DecodeBase64(std::string_view text, std::string* out) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return false;
  uint32_t bits = 0, n_bits = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=') return text.substr(i).size() <= 2 && text.back() == '=';
    const size_t digit = kDigits.find(text[i]);
    if (digit == kDigits.npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    out->push_back(static_cast<char>(bits >> n_bits));
  }
  return true;
}

Status ReadPrecompiled(const element& e, TokenizerSpec* spec) {
  const auto text = Get<std::string_view>(e, "precompiled_charsmap", "");
  if (!spec->charsmap.empty()) return Refuse("a second normalizer Precompiled");
  if (!DecodeBase64(text, &spec->charsmap)) return Bad("precompiled_charsmap is not base64");
  spec->normalizer.push_back({StepKind::kPrecompiled, 0, 0, "", ""});
  return OkStatus();
}

}  // namespace

Status ReadNormalizer(const element& e, TokenizerSpec* spec) {
  std::vector<Step>* out = &spec->normalizer;
  const std::string_view type = TypeOf(e);
  if (type == "NFC") {
    out->push_back({StepKind::kNfc, 0, 0, "", ""});
  } else if (type == "NFD") {
    out->push_back({StepKind::kNfd, 0, 0, "", ""});
  } else if (type == "NFKC") {
    out->push_back({StepKind::kNfkc, 0, 0, "", ""});
  } else if (type == "NFKD") {
    out->push_back({StepKind::kNfkd, 0, 0, "", ""});
  } else if (type == "Replace") {
    bool is_regex;
    Step step{StepKind::kReplace, 0, 0, "", std::string(Get<std::string_view>(e, "content", ""))};
    KRAFLA_RETURN_IF_ERROR(ReadPattern(e, &is_regex, &step.text));
    if (is_regex) step.kind = StepKind::kReplaceRegex;
    out->push_back(std::move(step));
  } else if (type == "Prepend") {
    out->push_back(
        {StepKind::kPrepend, 0, 0, std::string(Get<std::string_view>(e, "prepend", "")), ""});
  } else if (type == "Strip") {
    const uint32_t flags = (Get<bool>(e, "strip_left", true) ? kStripLeft : 0) |
                           (Get<bool>(e, "strip_right", true) ? kStripRight : 0);
    out->push_back({StepKind::kStrip, flags, 0, "", ""});
  } else if (type == "Precompiled") {
    return ReadPrecompiled(e, spec);
  } else if (type == "Lowercase") {
    out->push_back({StepKind::kLowercase, 0, 0, "", ""});
  } else if (type == "StripAccents") {
    out->push_back({StepKind::kStripAccents, 0, 0, "", ""});
  } else if (type == "Nmt") {
    out->push_back({StepKind::kNmt, 0, 0, "", ""});
  } else {
    return RefuseType("normalizer", e);
  }
  return OkStatus();
}

Status ReadPreTokenizer(const element& e, std::vector<Step>* out) {
  const std::string_view type = TypeOf(e);
  if (type == "ByteLevel") {
    const uint32_t flags = (Get<bool>(e, "add_prefix_space", true) ? kAddPrefixSpace : 0) |
                           (Get<bool>(e, "use_regex", true) ? kUseRegex : 0);
    out->push_back({StepKind::kByteLevel, flags, 0, "", ""});
  } else if (type == "Digits") {
    const bool individual = Get<bool>(e, "individual_digits", false);
    out->push_back({StepKind::kDigits, individual ? kIndividualDigits : 0, 0, "", ""});
  } else if (type == "Split") {
    return ReadSplit(e, out);
  } else if (type == "Metaspace") {
    Step step{StepKind::kMetaspace, Get<bool>(e, "split", true) ? kMetaspaceSplit : 0, 0,
              std::string(Get<std::string_view>(e, "replacement", "\u2581")), ""};
    KRAFLA_RETURN_IF_ERROR(ReadPrependScheme(e, &step.arg));
    out->push_back(std::move(step));
  } else if (type == "Whitespace") {
    out->push_back({StepKind::kWhitespace, 0, 0, "", ""});
  } else if (type == "WhitespaceSplit") {
    out->push_back({StepKind::kWhitespaceSplit, 0, 0, "", ""});
  } else if (type == "Punctuation") {
    return ReadPunctuation(e, out);
  } else if (type == "BertPreTokenizer") {
    out->push_back({StepKind::kWhitespaceSplit, 0, 0, "", ""});
    out->push_back(
        {StepKind::kPunctuation, 0, static_cast<uint32_t>(SplitBehavior::kIsolated), "", ""});
  } else if (type == "CharDelimiterSplit") {
    out->push_back({StepKind::kSplitLiteral, 0, static_cast<uint32_t>(SplitBehavior::kRemoved),
                    std::string(Get<std::string_view>(e, "delimiter", "")), ""});
  } else {
    return RefuseType("pre_tokenizer", e);
  }
  return OkStatus();
}

Status ReadDecoder(const element& e, std::vector<Step>* out) {
  const std::string_view type = TypeOf(e);
  if (type == "ByteLevel") {
    out->push_back({StepKind::kDecodeByteLevel, 0, 0, "", ""});
  } else if (type == "ByteFallback") {
    out->push_back({StepKind::kDecodeByteFallback, 0, 0, "", ""});
  } else if (type == "Fuse") {
    out->push_back({StepKind::kDecodeFuse, 0, 0, "", ""});
  } else if (type == "Replace") {
    bool is_regex;
    Step step{StepKind::kDecodeReplace, 0, 0, "",
              std::string(Get<std::string_view>(e, "content", ""))};
    KRAFLA_RETURN_IF_ERROR(ReadPattern(e, &is_regex, &step.text));
    if (is_regex) return Refuse("decoder Replace with a Regex");
    out->push_back(std::move(step));
  } else if (type == "Strip") {
    const auto count = [&](std::string_view key) {
      return static_cast<uint32_t>(std::min<uint64_t>(Get<uint64_t>(e, key, 0), 64));
    };
    const auto is_fuse = [](const Step& step) { return step.kind == StepKind::kDecodeFuse; };
    if (count("stop") != 0 && std::any_of(out->begin(), out->end(), is_fuse)) {
      return Refuse("decoder Strip at the end of the text");
    }
    out->push_back({StepKind::kDecodeStrip, count("stop"), count("start"),
                    std::string(Get<std::string_view>(e, "content", " ")), ""});
  } else if (type == "Metaspace") {
    Step step{StepKind::kDecodeMetaspace, 0, 0,
              std::string(Get<std::string_view>(e, "replacement", "\u2581")), ""};
    KRAFLA_RETURN_IF_ERROR(ReadPrependScheme(e, &step.arg));
    out->push_back(std::move(step));
  } else {
    return RefuseType("decoder", e);
  }
  return OkStatus();
}

}  // namespace krafla::tokenizer_json

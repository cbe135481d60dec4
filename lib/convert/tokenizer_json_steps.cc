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

Status ReadSplit(const element& e, std::vector<Step>* out) {
  constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  bool is_regex;
  Step step{StepKind::kSplitRegex, Get<bool>(e, "invert", false) ? kInvert : 0, kNoEntry, "", ""};
  KRAFLA_RETURN_IF_ERROR(ReadPattern(e, &is_regex, &step.text));
  if (!is_regex) step.kind = StepKind::kSplitLiteral;
  const auto behavior = Get<std::string_view>(e, "behavior", "");
  for (const auto& [name, value] : kBehaviors) {
    if (name == behavior) step.arg = static_cast<uint32_t>(value);
  }
  if (step.arg == kNoEntry) {
    return UnsupportedError("tokenizer.json: Split behavior {} is not supported", behavior);
  }
  out->push_back(std::move(step));
  return OkStatus();
}

}  // namespace

Status ReadNormalizer(const element& e, std::vector<Step>* out) {
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
    if (is_regex) return Refuse("normalizer Replace with a Regex");
    out->push_back(std::move(step));
  } else if (type == "Prepend") {
    out->push_back(
        {StepKind::kPrepend, 0, 0, std::string(Get<std::string_view>(e, "prepend", "")), ""});
  } else if (type == "Strip") {
    const uint32_t flags = (Get<bool>(e, "strip_left", true) ? kStripLeft : 0) |
                           (Get<bool>(e, "strip_right", true) ? kStripRight : 0);
    out->push_back({StepKind::kStrip, flags, 0, "", ""});
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
    if (Get<uint64_t>(e, "stop", 0) != 0) return Refuse("decoder Strip at the end");
    out->push_back({StepKind::kDecodeStrip, 0,
                    static_cast<uint32_t>(std::min<uint64_t>(Get<uint64_t>(e, "start", 0), 64)),
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

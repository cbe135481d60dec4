// What the names in tokenizer.ggml.pre stand for. A GGUF has only a name; what it means is in the
// tokenizer.json that the model came from, and these are those files' normalisers, splits and
// flags. Where a family has no such file at hand (marked "by use"), the definition is the one that
// programs reading GGUF agree on.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "lib/convert/tokenizer_gguf_parts.h"
#include "lib/tokenizer/pattern.h"

namespace krafla::tokenizer_gguf {
namespace {

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigitTriples = R"(\p{N}{1,3})";
constexpr std::string_view kDeepseekHan = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kCoderHan = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
constexpr std::string_view kSeedCoder =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = " ?[^(\\s|.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c)]+";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";

constexpr uint32_t kNfc = 1, kIgnoreMerges = 2, kAddsBos = 4;
constexpr uint32_t kDigitsFirst = 8;  // every digit by itself, before the patterns
constexpr uint32_t kDigitsLast = 16;  // the same, behind the patterns
constexpr uint32_t kGpt2Second = 32;  // GPT-2's pattern, behind the first pattern
constexpr uint32_t kFalcon = 64;      // steps of its own

struct Row {
  std::string_view name;
  uint32_t flags;
  // Applied one after another, each match is a word of its own. None: GPT-2's pattern.
  std::string_view patterns[4];
};

constexpr Row kRows[] = {
    {"gpt-2", 0, {}},
    {"phi-2", 0, {}},
    {"jais", 0, {}},             // by use
    {"gigachat", 0, {}},         // by use
    {"a.x-4.0", 0, {}},          // by use
    {"mellum", 0, {}},           // by use
    {"exaone4", 0, {}},          // by use
    {"trillion", 0, {}},         // by use
    {"granite-docling", 0, {}},  // by use
    {"mpt", kNfc, {}},
    {"olmo", kNfc, {}},
    {"smollm", kDigitsFirst, {}},
    {"starcoder", kDigitsFirst, {}},
    {"refact", kDigitsFirst, {}},
    {"command-r", kDigitsFirst | kNfc, {}},
    {"codeshell", kDigitsFirst, {}},   // by use
    {"exaone", kDigitsFirst, {}},      // by use
    {"minerva-7b", kDigitsFirst, {}},  // by use
    {"mellum2", kDigitsFirst, {}},     // by use
    {"falcon", kFalcon, {}},
    {"llama-bpe", kIgnoreMerges | kAddsBos, {kLlama3}},
    {"llama3", kIgnoreMerges | kAddsBos, {kLlama3}},
    {"llama-v3", kIgnoreMerges | kAddsBos, {kLlama3}},
    {"falcon3", kIgnoreMerges | kAddsBos, {kLlama3}},    // by use
    {"falcon-h1", kIgnoreMerges | kAddsBos, {kLlama3}},  // by use
    {"pixtral", kIgnoreMerges | kAddsBos, {kLlama3}},    // by use
    {"midm-2.0", kIgnoreMerges | kAddsBos, {kLlama3}},   // by use
    {"lfm2", kIgnoreMerges | kAddsBos, {kLlama3}},       // by use
    {"smaug-bpe", 0, {kLlama3}},                         // by use
    {"dbrx", 0, {kLlama3}},                              // by use
    {"glm4", 0, {kLlama3}},                              // by use
    {"chatglm-bpe", 0, {kLlama3}},                       // by use
    {"qwen2", kNfc, {kQwen2}},
    {"deepseek-r1-qwen", kNfc, {kQwen2}},
    {"megrez", 0, {kQwen2}},     // by use
    {"stablelm2", 0, {kQwen2}},  // by use
    {"hunyuan", 0, {kQwen2}},    // by use
    {"grok-2", 0, {kQwen2}},     // by use
    {"qwen35", kNfc, {kQwen35}},
    {"tekken", kIgnoreMerges | kAddsBos, {kTekken}},
    {"gpt-4o", kIgnoreMerges, {kGpt4o}},
    {"llama4", kIgnoreMerges, {kGpt4o}},
    {"kanana2", 0, {kGpt4o}},     // by use
    {"minimax-m2", 0, {kGpt4o}},  // by use
    {"deepseek-v3", 0, {kDigitTriples, kDeepseekHan, kDeepseek3}},
    {"hunyuan-dense", 0, {kDigitTriples, kDeepseekHan, kDeepseek3}},  // by use
    {"joyai-llm", 0, {kDigitTriples, kDeepseekHan, kDeepseek3}},      // by use
    {"deepseek-coder", kDigitsLast, {kLineEnd, R"(\s?\p{L}+)", R"(\s?\p{P}+)", kCoderHan}},
    {"seed-coder", 0, {kSeedCoder}},  // by use
    {"bailingmoe", 0, {kBailing}},    // by use
    {"bailingmoe2", 0, {kBailing}},   // by use
    {"llada-moe", 0, {kBailing}},     // by use
    {"bloom", 0, {kBloom}},
    {"poro-chat", 0, {kBloom}},         // by use
    {"gpt3-finnish", 0, {kBloom}},      // by use
    {"viking", kDigitsLast, {kBloom}},  // by use
    // Files older than the key, or converted from what the converter did not know; by use.
    {"default", kGpt2Second, {R"([\p{P}\$\+<=>\^~\|]+)", R"(\p{N}+)", kThreeDigits}},
};

void AddSplit(std::string_view pattern, std::vector<Step>* steps) {
  steps->push_back({StepKind::kSplitRegex, 0, static_cast<uint32_t>(SplitBehavior::kIsolated),
                    std::string(pattern), ""});
}

// Falcon cuts digits out of what ByteLevel has spelt in its alphabet already.
std::vector<Step> FalconSteps() {
  std::vector<Step> steps = {
      {StepKind::kPunctuation, 0, static_cast<uint32_t>(SplitBehavior::kContiguous), "", ""},
      {StepKind::kByteLevel, kUseRegex, 0, "", ""},
      {StepKind::kDigits, 0, 0, "", ""}};
  AddSplit(kThreeDigits, &steps);
  return steps;
}

}  // namespace

StatusOr<PreTokenizer> FindPreTokenizer(std::string_view name, bool add_space_prefix) {
  const std::string_view wanted = name.empty() ? "default" : name;
  const Row* row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& r) { return r.name == wanted; });
  if (row == std::end(kRows)) {
    return UnsupportedError("gguf: tokenizer.ggml.pre {} is not supported", name);
  }
  PreTokenizer result;
  result.ignore_merges = (row->flags & kIgnoreMerges) != 0;
  result.adds_bos = (row->flags & kAddsBos) != 0;
  if ((row->flags & kFalcon) != 0) {
    result.steps = FalconSteps();
    return result;
  }
  if ((row->flags & kNfc) != 0) result.normalizer.push_back({StepKind::kNfc, 0, 0, "", ""});
  const Step digits{StepKind::kDigits, kIndividualDigits, 0, "", ""};
  if ((row->flags & kDigitsFirst) != 0) result.steps.push_back(digits);
  const bool has_patterns = !row->patterns[0].empty();
  for (size_t i = 0; i < std::size(row->patterns) && !row->patterns[i].empty(); ++i) {
    AddSplit(row->patterns[i], &result.steps);
    if (i == 0 && (row->flags & kGpt2Second) != 0) AddSplit(kGpt2Pattern, &result.steps);
  }
  if ((row->flags & kDigitsLast) != 0) result.steps.push_back(digits);
  const uint32_t flags = (add_space_prefix ? kAddPrefixSpace : 0) | (has_patterns ? 0 : kUseRegex);
  result.steps.push_back({StepKind::kByteLevel, flags, 0, "", ""});
  return result;
}

}  // namespace krafla::tokenizer_gguf

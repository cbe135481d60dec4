// Byte-level BPE as GGUF holds it: tokens and merges in the byte alphabet, control tokens by type.
#include "lib/convert/tokenizer_gguf.h"

#include <string_view>
#include <unordered_map>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/tokenizer/table.h"

namespace krafla {
namespace {

// What a name in tokenizer.ggml.pre stands for.
struct PreTokenizerRow {
  std::string_view name;
  std::string_view pattern;  // empty: the pattern of GPT-2, which ByteLevel brings along
  bool digits;               // every digit by itself, first
  bool nfc;
  bool ignore_merges;
  bool adds_bos;  // unless the file says otherwise
};

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

constexpr PreTokenizerRow kRows[] = {
    // name, pattern, digits, nfc, ignore_merges, adds_bos
    {"", "", false, false, false, false},
    {"default", "", false, false, false, false},
    {"gpt-2", "", false, false, false, false},
    {"phi-2", "", false, false, false, false},
    {"mpt", "", false, false, false, false},
    {"olmo", "", false, false, false, false},
    {"smollm", "", true, false, false, false},
    {"starcoder", "", true, false, false, false},
    {"refact", "", true, false, false, false},
    {"command-r", "", true, false, false, false},
    {"llama-bpe", kLlama3, false, false, true, true},
    {"llama3", kLlama3, false, false, true, true},
    {"llama-v3", kLlama3, false, false, true, true},
    {"smaug-bpe", kLlama3, false, false, false, false},
    {"qwen2", kQwen2, false, true, false, false},
    {"deepseek-r1-qwen", kQwen2, false, true, false, false},
    {"qwen35", kQwen35, false, true, false, false},
    {"tekken", kTekken, false, false, true, false},
};

// tokenizer.ggml.token_type.
constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

Status AddTokens(const GgufTokenizerData& data, TokenizerSpec* spec) {
  const size_t n = data.tokens.size();
  if (n == 0 || n > kMaxTokens) {
    return FileError("gguf: tokenizer.ggml.tokens: {} tokens, want 1 to {}", n, kMaxTokens);
  }
  if (!data.token_types.empty() && data.token_types.size() != n) {
    return FileError("gguf: tokenizer.ggml.token_type: {} entries for {} tokens",
                     data.token_types.size(), n);
  }
  if (!data.scores.empty() && data.scores.size() != n) {
    return FileError("gguf: tokenizer.ggml.scores: {} entries for {} tokens", data.scores.size(),
                     n);
  }
  spec->tokens.resize(n);
  for (size_t id = 0; id < n; ++id) {
    const std::string& text = data.tokens[id];
    if (ValidUtf8Prefix(text) != text.size()) {
      return FileError("gguf: token {} is not UTF-8 at byte {}", id, ValidUtf8Prefix(text));
    }
    const int32_t type = data.token_types.empty() ? kNormal : data.token_types[id];
    if (type < kNormal || type > kByte) {
      return FileError("gguf: token {} has type {}, want {} to {}", id, type, kNormal, kByte);
    }
    spec->tokens[id] = {text, true, type == kNormal || type == kByte};
    if (type == kControl || type == kUserDefined || type == kUnknown) {
      AddedTokenSpec added;
      added.id = static_cast<uint32_t>(id);
      added.content = text;
      added.special = type != kUserDefined;
      spec->added.push_back(std::move(added));
      // A user-defined token may also be a piece that merges make.
      spec->tokens[id].in_model = type == kUserDefined;
    }
  }
  return OkStatus();
}

Status AddMerges(const GgufTokenizerData& data, TokenizerSpec* spec) {
  std::unordered_map<std::string_view, uint32_t> ids;
  ids.reserve(data.tokens.size());
  for (size_t id = 0; id < data.tokens.size(); ++id) {
    const auto [it, is_new] = ids.emplace(data.tokens[id], static_cast<uint32_t>(id));
    if (!is_new) {
      return FileError("gguf: tokens {} and {} are both \"{}\"", it->second, id, data.tokens[id]);
    }
  }
  std::string result;
  spec->merges.reserve(data.merges.size());
  for (size_t i = 0; i < data.merges.size(); ++i) {
    const std::string_view merge = data.merges[i];
    const size_t space = merge.empty() ? merge.npos : merge.find(' ', 1);
    if (space == merge.npos || space + 1 == merge.size()) {
      return FileError("gguf: merge {} is \"{}\", want two tokens", i, merge);
    }
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    result.assign(left).append(right);
    MergeSpec m = {};
    for (auto& [name, id] : {std::pair(left, &m.left), std::pair(right, &m.right),
                             std::pair(std::string_view(result), &m.result)}) {
      const auto it = ids.find(name);
      if (it == ids.end()) {
        return FileError("gguf: merge {} (\"{}\"): \"{}\" is no token", i, merge, name);
      }
      *id = it->second;
    }
    spec->merges.push_back(m);
  }
  return OkStatus();
}

Status AddSpecialIds(const GgufTokenizerData& data, const PreTokenizerRow& row,
                     TokenizerSpec* spec) {
  for (const auto& [from, to, name] : {std::tuple(data.bos_id, &spec->bos_id, "bos"),
                                       std::tuple(data.eos_id, &spec->eos_id, "eos"),
                                       std::tuple(data.pad_id, &spec->pad_id, "padding")}) {
    if (!from.has_value()) continue;
    if (*from < 0 || *from >= static_cast<int64_t>(data.tokens.size())) {
      return FileError("gguf: tokenizer.ggml.{}_token_id: {} of {} tokens", name, *from,
                       data.tokens.size());
    }
    *to = static_cast<int32_t>(*from);
  }
  // unknown_token_id is not used: byte-level text has nothing unknown, and Hugging Face's files of
  // these models name no unknown token.
  if (data.unk_id.has_value() &&
      (*data.unk_id < 0 || *data.unk_id >= static_cast<int64_t>(data.tokens.size()))) {
    return FileError("gguf: tokenizer.ggml.unknown_token_id: {} of {} tokens", *data.unk_id,
                     data.tokens.size());
  }
  for (const auto& [adds, id, kind, name] :
       {std::tuple(data.add_bos.value_or(row.adds_bos), spec->bos_id, StepKind::kAddBefore, "bos"),
        std::tuple(data.add_eos.value_or(false), spec->eos_id, StepKind::kAddAfter, "eos")}) {
    if (!adds) continue;
    if (id < 0) return FileError("gguf: tokenizer.ggml.add_{0}_token without {0}_token_id", name);
    spec->post_processor.push_back({kind, 0, static_cast<uint32_t>(id), "", ""});
  }
  return OkStatus();
}

}  // namespace

StatusOr<TokenizerSpec> TokenizerSpecFromGguf(const GgufTokenizerData& data) {
  if (data.model != "gpt2") {
    return UnsupportedError("gguf: tokenizer.ggml.model {} is not supported", data.model);
  }
  const PreTokenizerRow* row = nullptr;
  for (const PreTokenizerRow& r : kRows) {
    if (r.name == data.pre) row = &r;
  }
  if (row == nullptr) {
    return UnsupportedError("gguf: tokenizer.ggml.pre {} is not supported", data.pre);
  }
  TokenizerSpec spec;
  KRAFLA_RETURN_IF_ERROR(AddTokens(data, &spec));
  KRAFLA_RETURN_IF_ERROR(AddMerges(data, &spec));
  KRAFLA_RETURN_IF_ERROR(AddSpecialIds(data, *row, &spec));
  spec.ignore_merges = row->ignore_merges;
  if (row->nfc) spec.normalizer.push_back({StepKind::kNfc, 0, 0, "", ""});
  if (row->digits) {
    spec.pre_tokenizer.push_back({StepKind::kDigits, kIndividualDigits, 0, "", ""});
  }
  uint32_t byte_level = data.add_space_prefix.value_or(false) ? kAddPrefixSpace : 0;
  if (row->pattern.empty()) {
    byte_level |= kUseRegex;
  } else {
    spec.pre_tokenizer.push_back({StepKind::kSplitRegex, 0,
                                  static_cast<uint32_t>(SplitBehavior::kIsolated),
                                  std::string(row->pattern), ""});
  }
  spec.pre_tokenizer.push_back({StepKind::kByteLevel, byte_level, 0, "", ""});
  spec.decoder.push_back({StepKind::kDecodeByteLevel, 0, 0, "", ""});
  return spec;
}

}  // namespace krafla

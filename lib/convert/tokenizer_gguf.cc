// What both kinds of GGUF tokenizers share: the tokens with their types, the special ids.
// Byte-level BPE has merges and a named pre-tokenizer, SentencePiece has scores.
#include "lib/convert/tokenizer_gguf.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/convert/tokenizer_gguf_parts.h"
#include "lib/tokenizer/table.h"

namespace krafla {
namespace {

using namespace tokenizer_gguf;

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
    if (text.empty()) continue;  // a hole
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

// Ids by text; every text is one token's.
StatusOr<TokenIds> IdsByText(const GgufTokenizerData& data) {
  TokenIds ids;
  ids.reserve(data.tokens.size());
  for (size_t id = 0; id < data.tokens.size(); ++id) {
    if (data.tokens[id].empty()) continue;
    const auto [it, is_new] = ids.emplace(data.tokens[id], static_cast<uint32_t>(id));
    if (!is_new) {
      return FileError("gguf: tokens {} and {} are both \"{}\"", it->second, id, data.tokens[id]);
    }
  }
  return ids;
}

// adds_bos: unless the file says otherwise.
Status AddSpecialIds(const GgufTokenizerData& data, bool adds_bos, TokenizerSpec* spec) {
  for (const auto& [from, to, name] : {std::tuple(data.bos_id, &spec->bos_id, "bos"),
                                       std::tuple(data.eos_id, &spec->eos_id, "eos"),
                                       std::tuple(data.unk_id, &spec->unk_id, "unknown"),
                                       std::tuple(data.pad_id, &spec->pad_id, "padding")}) {
    if (!from.has_value()) continue;
    if (*from < 0 || *from >= static_cast<int64_t>(data.tokens.size())) {
      return FileError("gguf: tokenizer.ggml.{}_token_id: {} of {} tokens", name, *from,
                       data.tokens.size());
    }
    *to = static_cast<int32_t>(*from);
  }
  for (const auto& [adds, id, kind, name] :
       {std::tuple(data.add_bos.value_or(adds_bos), spec->bos_id, StepKind::kAddBefore, "bos"),
        std::tuple(data.add_eos.value_or(false), spec->eos_id, StepKind::kAddAfter, "eos")}) {
    if (!adds) continue;
    if (id < 0) return FileError("gguf: tokenizer.ggml.add_{0}_token without {0}_token_id", name);
    spec->post_processor.push_back({kind, 0, static_cast<uint32_t>(id), "", ""});
  }
  return OkStatus();
}

// Writers of GGUF spell a user-defined run of word marks as spaces. In Hugging Face's vocabulary it
// is what merging word marks gives, and so it is here.
void RestoreWordMarks(GgufTokenizerData* data) {
  const std::unordered_set<std::string> known(data->tokens.begin(), data->tokens.end());
  const size_t n = std::min(data->tokens.size(), data->token_types.size());
  for (size_t id = 0; id < n; ++id) {
    std::string& text = data->tokens[id];
    if (data->token_types[id] != kUserDefined || text.empty()) continue;
    if (text.find_first_not_of(' ') != text.npos) continue;
    std::string marks;
    for (size_t i = 0; i < text.size(); ++i) marks += kWordMark;
    if (!known.contains(marks)) text = std::move(marks);
  }
}

// Where a SentencePiece file does not name them, these are the ids that it means.
void AssumeSpecialIds(GgufTokenizerData* data) {
  for (const auto& [id, assumed] :
       {std::pair(&data->unk_id, 0), std::pair(&data->bos_id, 1), std::pair(&data->eos_id, 2)}) {
    const bool known = static_cast<size_t>(assumed) < data->tokens.size();
    if (!id->has_value() && known) *id = assumed;
  }
}

}  // namespace

StatusOr<TokenizerSpec> TokenizerSpecFromGguf(GgufTokenizerData data) {
  TokenizerSpec spec;
  if (data.model != "gpt2" && data.model != "llama") {
    return UnsupportedError("gguf: tokenizer.ggml.model {} is not supported", data.model);
  }
  if (data.model == "llama") RestoreWordMarks(&data);
  KRAFLA_RETURN_IF_ERROR(AddTokens(data, &spec));
  KRAFLA_ASSIGN_OR_RETURN(const TokenIds ids, IdsByText(data));
  if (data.model == "llama") {
    AssumeSpecialIds(&data);
    KRAFLA_RETURN_IF_ERROR(AddSpecialIds(data, true, &spec));
    KRAFLA_RETURN_IF_ERROR(AddSentencePiece(data, ids, &spec));
    return spec;
  }
  KRAFLA_ASSIGN_OR_RETURN(PreTokenizer pre,
                          FindPreTokenizer(data.pre, data.add_space_prefix.value_or(false)));
  KRAFLA_RETURN_IF_ERROR(AddListedMerges(data, ids, &spec));
  KRAFLA_RETURN_IF_ERROR(AddSpecialIds(data, pre.adds_bos, &spec));
  // Byte-level text has nothing unknown, and Hugging Face's files of these models name no unknown
  // token.
  spec.unk_id = -1;
  spec.ignore_merges = pre.ignore_merges;
  spec.normalizer = std::move(pre.normalizer);
  spec.pre_tokenizer = std::move(pre.steps);
  spec.decoder.push_back({StepKind::kDecodeByteLevel, 0, 0, "", ""});
  return spec;
}

}  // namespace krafla

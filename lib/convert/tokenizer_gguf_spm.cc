// SentencePiece's BPE: the vocabulary has scores and no merges. Two neighbours may become one token
// whenever their joined text is a token; the higher score goes first. Of the pairs that spell the
// same token Hugging Face tries those with the longer left part first, and so do we.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "lib/base/utf8.h"
#include "lib/convert/tokenizer_gguf_parts.h"
#include "lib/tokenizer/table.h"

namespace krafla::tokenizer_gguf {
namespace {

// A longer token is no piece of text; what splitting it may cost is bounded by this.
constexpr size_t kMaxPieceBytes = 1024;

struct Candidate {
  MergeSpec merge;
  float score;
  uint32_t left_length;  // in code points
};

// The pairs of one token in their order among each other.
void AddPairs(std::string_view text, uint32_t id, float score, const TokenIds& ids,
              const std::vector<TokenSpec>& tokens, std::vector<Candidate>* out) {
  uint32_t length = 0;
  for (size_t at = 0; at < text.size();) {
    at += DecodeUtf8(text.substr(at)).length;
    ++length;
    if (at == text.size()) break;
    const auto left = ids.find(text.substr(0, at));
    if (left == ids.end() || !tokens[left->second].in_model) continue;
    const auto right = ids.find(text.substr(at));
    if (right == ids.end() || !tokens[right->second].in_model) continue;
    out->push_back({{left->second, right->second, id}, score, length});
  }
}

}  // namespace

Status AddSentencePiece(const GgufTokenizerData& data, const TokenIds& ids, TokenizerSpec* spec) {
  const size_t n = data.tokens.size();
  if (data.scores.size() != n) {
    return FileError("gguf: tokenizer.ggml.scores: {} entries for {} tokens", data.scores.size(),
                     n);
  }
  std::vector<Candidate> candidates;
  for (uint32_t id = 0; id < n; ++id) {
    if (!std::isfinite(data.scores[id])) {
      return FileError("gguf: tokenizer.ggml.scores: token {} has no finite score", id);
    }
    const std::string_view text = data.tokens[id];
    if (!spec->tokens[id].in_model || text.size() > kMaxPieceBytes) continue;
    // Writers give user-defined tokens any score; in Hugging Face's order their merges come first.
    const bool is_user_defined = !data.token_types.empty() && data.token_types[id] == kUserDefined;
    const float score = is_user_defined ? std::numeric_limits<float>::max() : data.scores[id];
    AddPairs(text, id, score, ids, spec->tokens, &candidates);
    if (candidates.size() > kMaxTokens) {
      return FileError("gguf: the vocabulary has more than {} pairs of tokens", kMaxTokens);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.left_length > b.left_length;
  });
  spec->merges.reserve(candidates.size());
  for (const Candidate& candidate : candidates) spec->merges.push_back(candidate.merge);

  spec->byte_fallback = true;
  spec->fuse_unk = true;
  const bool prefix = data.add_space_prefix.value_or(true);
  if (prefix) spec->normalizer.push_back({StepKind::kPrepend, 0, 0, std::string(kWordMark), ""});
  spec->normalizer.push_back({StepKind::kReplace, 0, 0, " ", std::string(kWordMark)});
  spec->decoder = {{StepKind::kDecodeReplace, 0, 0, std::string(kWordMark), " "},
                   {StepKind::kDecodeByteFallback, 0, 0, "", ""},
                   {StepKind::kDecodeFuse, 0, 0, "", ""}};
  if (prefix) spec->decoder.push_back({StepKind::kDecodeStrip, 0, 1, " ", ""});
  return OkStatus();
}

}  // namespace krafla::tokenizer_gguf

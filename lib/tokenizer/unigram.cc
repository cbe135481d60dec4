// Ties go to the way that was found first, as in Hugging Face's library: so ids are equal even
// where scores are. An unknown character costs kUnkPenalty more than the worst token.
#include "lib/tokenizer/unigram.h"

#include <algorithm>

#include "lib/base/utf8.h"

namespace krafla {
namespace {

constexpr double kUnkPenalty = 10.0;
constexpr int32_t kNowhere = -2, kUnknown = -1;

size_t FirstTwo(std::string_view text) {
  const size_t first = static_cast<uint8_t>(text[0]);
  return first << 8 | (text.size() > 1 ? static_cast<uint8_t>(text[1]) : 0);
}

}  // namespace

Unigram::Unigram(const TokenizerTable* table) : table_(table), longest_(1 << 16, 0) {
  const std::span<const TokenRecord> tokens = table->tokens();
  double lowest = 0;
  for (size_t id = 0; id < tokens.size(); ++id) {
    if ((tokens[id].flags & kTokenInModel) == 0) continue;
    lowest = std::min(lowest, table->scores()[id]);
    const std::string_view text = table->Text(tokens[id]);
    if (text.empty() || !IsModelToken(tokens[id])) continue;
    const auto bytes = static_cast<uint16_t>(std::min<size_t>(text.size(), kMaxUnigramBytes));
    uint16_t& longest = longest_[FirstTwo(text)];
    longest = std::max(longest, bytes);
    // A token of one byte is found whatever follows it.
    if (bytes == 1) {
      for (size_t next = 0; next < 256; ++next) {
        uint16_t& other = longest_[(FirstTwo(text) & 0xFF00) | next];
        other = std::max<uint16_t>(other, 1);
      }
    }
  }
  unk_score_ = lowest - kUnkPenalty;
}

void Unigram::FindBest(std::string_view word, UnigramScratch* scratch) const {
  std::vector<UnigramScratch::Node>& nodes = scratch->nodes;
  nodes.assign(word.size() + 1, {0, 0, kNowhere});
  const auto offer = [&](size_t end, size_t begin, int32_t id, double score) {
    UnigramScratch::Node& node = nodes[end];
    if (node.id == kNowhere || score > node.score) {
      node = {score, static_cast<uint32_t>(begin), id};
    }
  };
  for (size_t begin = 0; begin < word.size();) {
    const std::string_view rest = word.substr(begin);
    const double till_here = nodes[begin].score;
    const size_t character = DecodeUtf8(rest).length;
    const size_t longest = std::min<size_t>(rest.size(), longest_[FirstTwo(rest)]);
    bool has_single = false;
    uint64_t hash = kPieceHashStart;
    for (size_t n = 1; n <= longest; ++n) {
      hash = AddToPieceHash(hash, rest[n - 1]);
      const bool ends_character =
          n == rest.size() || (static_cast<uint8_t>(rest[n]) & 0xC0) != 0x80;
      if (!ends_character) continue;
      const int32_t id = table_->FindPiece(rest.substr(0, n), MixHash(hash));
      if (id < 0 || !IsModelToken(table_->tokens()[static_cast<size_t>(id)])) continue;
      offer(begin + n, begin, id, till_here + table_->scores()[static_cast<size_t>(id)]);
      has_single |= n == character;
    }
    if (!has_single) offer(begin + character, begin, kUnknown, till_here + unk_score_);
    begin += character;
  }
}

// What no token spells: its bytes if all of them have tokens, else the unknown token.
void Unigram::AppendUnknown(std::string_view text, std::vector<int32_t>* ids) const {
  const SettingsRecord& settings = table_->settings();
  const bool has_bytes = (settings.flags & kSettingByteFallback) != 0 &&
                         std::all_of(text.begin(), text.end(), [&](char c) {
                           return table_->FallbackToken(static_cast<uint8_t>(c)) >= 0;
                         });
  if (has_bytes) {
    for (char c : text) ids->push_back(table_->FallbackToken(static_cast<uint8_t>(c)));
  } else if (settings.unk_id >= 0) {
    ids->push_back(settings.unk_id);
  }
}

void Unigram::Encode(std::string_view word, UnigramScratch* scratch,
                     std::vector<int32_t>* ids) const {
  FindBest(word, scratch);
  const bool fuses = (table_->settings().flags & kSettingFuseUnk) != 0;
  std::vector<uint32_t>& cuts = scratch->cuts;  // ends of tokens, the last one first
  cuts.clear();
  for (size_t end = word.size(); end > 0; end = scratch->nodes[end].begin) {
    cuts.push_back(static_cast<uint32_t>(end));
  }
  for (size_t i = cuts.size(); i-- > 0;) {
    const UnigramScratch::Node& node = scratch->nodes[cuts[i]];
    if (node.id >= 0) {
      ids->push_back(node.id);
      continue;
    }
    while (fuses && i > 0 && scratch->nodes[cuts[i - 1]].id == kUnknown) --i;
    AppendUnknown(word.substr(node.begin, cuts[i] - node.begin), ids);
  }
}

}  // namespace krafla

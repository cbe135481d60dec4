// Making a table of a spec: the rules of the format are checked, strings are shared, hash tables
// are filled in id and rank order, so that equal specs give equal bytes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "lib/base/utf8.h"
#include "lib/tokenizer/byte_alphabet.h"
#include "lib/tokenizer/decoded_bytes.h"
#include "lib/tokenizer/normalizer.h"
#include "lib/tokenizer/table.h"

namespace krafla {
namespace {

class StringPool {
 public:
  // Offset of the text, stored once however often it is asked for.
  StatusOr<uint32_t> Add(std::string_view text) {
    if (text.empty()) return 0;
    const auto [it, is_new] = known_.try_emplace(std::string(text), bytes_.size());
    if (is_new) bytes_.append(text);
    if (bytes_.size() > 0xFFFFFFFFu) return FileError("tokenizer: more than 4 GiB of text");
    return static_cast<uint32_t>(it->second);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::unordered_map<std::string, size_t> known_;
  std::string bytes_;
};

class Writer {
 public:
  explicit Writer(const TokenizerSpec& spec) : spec_(spec) {}

  StatusOr<std::string> Write() {
    settings_.model = spec_.is_unigram ? kModelUnigram : kModelBpe;
    settings_.flags = (spec_.ignore_merges ? kSettingIgnoreMerges : 0) |
                      (spec_.byte_fallback ? kSettingByteFallback : 0) |
                      (spec_.fuse_unk ? kSettingFuseUnk : 0);
    settings_.unk_id = spec_.unk_id;
    settings_.bos_id = spec_.bos_id;
    settings_.eos_id = spec_.eos_id;
    settings_.pad_id = spec_.pad_id;
    KRAFLA_RETURN_IF_ERROR(AddSteps());
    KRAFLA_RETURN_IF_ERROR(AddTokens());
    KRAFLA_RETURN_IF_ERROR(AddAdded());
    KRAFLA_RETURN_IF_ERROR(AddPieces());
    KRAFLA_RETURN_IF_ERROR(AddMerges());
    AddByteTokens();
    KRAFLA_RETURN_IF_ERROR(AddScores());
    return Assemble();
  }

 private:
  Status CheckId(int64_t id, std::string_view what) const {
    if (id >= 0 && id < static_cast<int64_t>(spec_.tokens.size()) && spec_.tokens[id].present) {
      return OkStatus();
    }
    return FileError("tokenizer: {} has id {}, which is no token", what, id);
  }

  Status AddSteps() {
    const std::vector<Step>* programs[] = {&spec_.normalizer, &spec_.pre_tokenizer, &spec_.decoder,
                                           &spec_.post_processor};
    for (int i = 0; i < 4; ++i) {
      if (programs[i]->size() > kMaxSteps) {
        return FileError("tokenizer: {} steps, at most {}", programs[i]->size(), kMaxSteps);
      }
      settings_.n_steps[i] = static_cast<uint32_t>(programs[i]->size());
      for (const Step& step : *programs[i]) {
        if (step.text.size() > kMaxStepBytes || step.text2.size() > kMaxStepBytes) {
          return FileError("tokenizer: {}: text of more than {} bytes", StepName(step.kind),
                           kMaxStepBytes);
        }
        if (i == 3) KRAFLA_RETURN_IF_ERROR(CheckId(step.arg, StepName(step.kind)));
        StepRecord record = {};
        record.kind = static_cast<uint32_t>(step.kind);
        record.flags = step.flags;
        record.arg = step.arg;
        KRAFLA_ASSIGN_OR_RETURN(record.text, strings_.Add(step.text));
        record.text_bytes = static_cast<uint32_t>(step.text.size());
        KRAFLA_ASSIGN_OR_RETURN(record.text2, strings_.Add(step.text2));
        record.text2_bytes = static_cast<uint32_t>(step.text2.size());
        steps_.push_back(record);
      }
    }
    return AddLeadingRule();
  }

  // What the decoder does at the start of a text only; the rest of it is in every token's bytes.
  Status AddLeadingRule() {
    bool fused = false;
    for (const Step& step : spec_.decoder) {
      if (step.kind == StepKind::kDecodeFuse) fused = true;
      std::string text;
      if (step.kind == StepKind::kDecodeStrip && fused) {
        text = step.text;
        settings_.strip_count = step.arg;
      } else if (step.kind == StepKind::kDecodeMetaspace &&
                 static_cast<PrependScheme>(step.arg) != PrependScheme::kNever) {
        text = step.text;
        settings_.flags |= kSettingDropFirst;
      }
      if (text.empty()) continue;
      if (settings_.strip_bytes != 0) return FileError("tokenizer: decoder strips twice");
      if (text.size() > 64) return FileError("tokenizer: decoder strips more than 64 bytes");
      KRAFLA_ASSIGN_OR_RETURN(settings_.strip_text, strings_.Add(text));
      settings_.strip_bytes = static_cast<uint32_t>(text.size());
    }
    return OkStatus();
  }

  Status AddTokens() {
    if (spec_.tokens.empty() || spec_.tokens.size() > kMaxTokens) {
      return FileError("tokenizer: {} tokens, want 1 to {}", spec_.tokens.size(), kMaxTokens);
    }
    tokens_.resize(spec_.tokens.size());
    for (size_t id = 0; id < tokens_.size(); ++id) {
      const TokenSpec& token = spec_.tokens[id];
      if (!token.present) continue;
      if (token.text.size() > kMaxTokenBytes) {
        return FileError("tokenizer: token {} has {} bytes, at most {}", id, token.text.size(),
                         kMaxTokenBytes);
      }
      if (ValidUtf8Prefix(token.text) != token.text.size()) {
        return FileError("tokenizer: token {} is not UTF-8 at byte {}", id,
                         ValidUtf8Prefix(token.text));
      }
      tokens_[id].flags = kTokenPresent | (token.in_model ? kTokenInModel : 0);
    }
    for (const auto& [id, what] :
         {std::pair(spec_.unk_id, "unk"), std::pair(spec_.bos_id, "bos"),
          std::pair(spec_.eos_id, "eos"), std::pair(spec_.pad_id, "pad")}) {
      if (id != -1) KRAFLA_RETURN_IF_ERROR(CheckId(id, what));
    }
    return OkStatus();
  }

  Status AddAdded() {
    std::unordered_map<std::string, size_t> seen[2];
    std::vector<std::string> match_of(tokens_.size());
    std::vector<std::pair<std::string, AddedRecord>> groups[2];
    if (spec_.charsmap.size() > kMaxCharsmapBytes) {
      return FileError("tokenizer: Precompiled: a map of {} bytes, at most {}",
                       spec_.charsmap.size(), kMaxCharsmapBytes);
    }
    KRAFLA_ASSIGN_OR_RETURN(const Normalizer normalizer,
                            Normalizer::Make(ViewSteps(spec_.normalizer), spec_.charsmap));
    for (const AddedTokenSpec& added : spec_.added) {
      KRAFLA_RETURN_IF_ERROR(CheckId(added.id, "added token " + added.content));
      tokens_[added.id].flags |= kTokenAdded | (added.special ? kTokenSpecial : 0);
      std::string match = added.content;
      if (added.normalized) {
        KRAFLA_RETURN_IF_ERROR(normalizer.Normalize(added.content, &match));
        match_of[added.id] = match;
      }
      if (match.size() > kMaxAddedTokenBytes) {
        return FileError("tokenizer: added token {} has {} bytes, at most {}", added.id,
                         match.size(), kMaxAddedTokenBytes);
      }
      // An empty one is never found; of equal ones only one can be.
      if (match.empty() || !seen[added.normalized].try_emplace(match, 0).second) continue;
      AddedRecord record = {};
      record.id = added.id;
      record.flags = (added.special ? kAddedSpecial : 0) |
                     (added.normalized ? kAddedNormalized : 0) |
                     (added.lstrip ? kAddedLeftStrip : 0) | (added.rstrip ? kAddedRightStrip : 0) |
                     (added.single_word ? kAddedSingleWord : 0);
      groups[added.normalized].emplace_back(std::move(match), record);
    }
    settings_.n_raw_added = static_cast<uint32_t>(groups[0].size());
    for (auto& group : groups) {
      std::sort(group.begin(), group.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      for (auto& [match, record] : group) {
        KRAFLA_ASSIGN_OR_RETURN(record.match, strings_.Add(match));
        record.match_bytes = static_cast<uint32_t>(match.size());
        added_.push_back(record);
      }
    }
    for (size_t id = 0; id < tokens_.size(); ++id) {
      if ((tokens_[id].flags & kTokenPresent) == 0) continue;
      // Hugging Face decodes a normalised added token from its normalised text.
      const std::string& text = spec_.tokens[id].text;
      const std::string bytes =
          DecodedBytes(spec_.decoder, match_of[id].empty() ? text : match_of[id]);
      if (bytes.size() > kMaxTokenBytes) return FileError("tokenizer: token {} is too long", id);
      TokenRecord& t = tokens_[id];
      KRAFLA_ASSIGN_OR_RETURN(t.text, strings_.Add(text));
      t.text_bytes = static_cast<uint32_t>(text.size());
      KRAFLA_ASSIGN_OR_RETURN(t.bytes, strings_.Add(bytes));
      t.n_bytes = static_cast<uint32_t>(bytes.size());
    }
    return OkStatus();
  }

  Status AddPieces() {
    std::unordered_map<std::string_view, uint32_t> ids;
    for (uint32_t id = 0; id < tokens_.size(); ++id) {
      if ((tokens_[id].flags & kTokenPresent) == 0) continue;
      const auto [it, is_new] = ids.try_emplace(spec_.tokens[id].text, id);
      if (!is_new) {
        return FileError("tokenizer: tokens {} and {} are both \"{}\"", it->second, id,
                         spec_.tokens[id].text);
      }
    }
    for (size_t size = 16;; size *= 2) {
      if (size < tokens_.size() * 2) continue;
      if (size > tokens_.size() * 64 + 1024) return FileError("tokenizer: token texts collide");
      pieces_.assign(size, kNoEntry);
      uint32_t probes = 0;
      for (uint32_t id = 0; id < tokens_.size(); ++id) {
        if ((tokens_[id].flags & kTokenPresent) == 0) continue;
        uint64_t slot = PieceHash(spec_.tokens[id].text);
        uint32_t i = 0;
        for (; pieces_[slot & (size - 1)] != kNoEntry; ++slot) ++i;
        pieces_[slot & (size - 1)] = id;
        probes = std::max(probes, i);
      }
      settings_.piece_probes = probes;
      if (probes <= kMaxProbes) return OkStatus();
    }
  }

  Status AddMerges() {
    const size_t n = spec_.merges.size();
    if (n > kMaxTokens) return FileError("tokenizer: {} merges, at most {}", n, kMaxTokens);
    for (const MergeSpec& m : spec_.merges) {
      for (uint32_t id : {m.left, m.right, m.result}) KRAFLA_RETURN_IF_ERROR(CheckId(id, "merge"));
    }
    for (size_t size = 16;; size *= 2) {
      if (size < n * 2) continue;
      if (size > n * 64 + 1024) return FileError("tokenizer: merges collide");
      merges_.assign(size, MergeRecord{kNoEntry, 0, 0, 0});
      uint32_t probes = 0;
      for (uint32_t rank = 0; rank < n; ++rank) {
        const MergeSpec& m = spec_.merges[rank];
        if (!IsModelToken(tokens_[m.result])) continue;
        uint64_t slot = MergeHash(m.left, m.right);
        uint32_t i = 0;
        for (;; ++slot, ++i) {
          MergeRecord& record = merges_[slot & (size - 1)];
          if (record.left == kNoEntry || (record.left == m.left && record.right == m.right)) {
            record = {m.left, m.right, rank, m.result};
            break;
          }
        }
        probes = std::max(probes, i);
      }
      settings_.merge_probes = probes;
      if (probes <= kMaxProbes) return OkStatus();
    }
  }

  Status AddScores() {
    if (!spec_.is_unigram) return OkStatus();
    for (size_t id = 0; id < tokens_.size(); ++id) {
      const TokenSpec& token = spec_.tokens[id];
      if (!std::isfinite(token.score)) return FileError("tokenizer: token {} has no score", id);
      if (IsModelToken(tokens_[id]) && token.text.size() > kMaxUnigramBytes) {
        return FileError("tokenizer: token {} has {} bytes, Unigram's at most {}", id,
                         token.text.size(), kMaxUnigramBytes);
      }
      scores_.push_back(token.score);
    }
    return OkStatus();
  }

  void AddByteTokens() {
    std::unordered_map<std::string_view, uint32_t> ids;
    for (uint32_t id = 0; id < tokens_.size(); ++id) {
      if (IsModelToken(tokens_[id]) && spec_.tokens[id].text.size() <= 6) {
        ids.emplace(spec_.tokens[id].text, id);
      }
    }
    for (int byte = 0; byte < 256; ++byte) {
      std::string letter;
      AppendUtf8(ByteLetter(static_cast<uint8_t>(byte)), &letter);
      const auto plain = ids.find(letter);
      byte_tokens_[byte] = plain == ids.end() ? -1 : static_cast<int32_t>(plain->second);
      const std::string fallback_text = FallbackToken(static_cast<uint8_t>(byte));
      const auto fallback = ids.find(fallback_text);
      fallback_tokens_[byte] = fallback == ids.end() ? -1 : static_cast<int32_t>(fallback->second);
    }
  }

  std::string Assemble() const {
    struct Part {
      SectionKind kind;
      size_t count;
      const void* data;
      size_t bytes;
    };
    const auto part = [](SectionKind kind, const auto& records) {
      return Part{kind, records.size(), records.data(), records.size() * sizeof(records[0])};
    };
    std::vector<Part> parts = {
        {SectionKind::kSettings, 1, &settings_, sizeof(settings_)},
        {SectionKind::kByteTokens, 256, byte_tokens_, sizeof(byte_tokens_)},
        {SectionKind::kFallbackTokens, 256, fallback_tokens_, sizeof(fallback_tokens_)},
        part(SectionKind::kAddedTokens, added_),
        part(SectionKind::kSteps, steps_),
        part(SectionKind::kTokens, tokens_),
        part(SectionKind::kPieces, pieces_),
        part(SectionKind::kMerges, merges_),
        part(SectionKind::kStrings, strings_.bytes()),
    };
    if (!scores_.empty()) parts.push_back(part(SectionKind::kScores, scores_));
    if (!spec_.charsmap.empty()) parts.push_back(part(SectionKind::kCharsmap, spec_.charsmap));
    const auto align = [](size_t n) {
      return (n + kTokenizerTableAlignment - 1) / kTokenizerTableAlignment *
             kTokenizerTableAlignment;
    };
    TableHeader header = {};
    std::memcpy(header.magic, "KRAFTOK1", 8);
    header.version = 1;
    header.n_sections = static_cast<uint32_t>(parts.size());
    std::vector<TableSection> sections;
    size_t offset = align(sizeof(header) + parts.size() * sizeof(TableSection));
    for (const Part& p : parts) {
      sections.push_back(
          {static_cast<uint32_t>(p.kind), static_cast<uint32_t>(p.count), offset, p.bytes, 0});
      offset = align(offset + p.bytes);
    }
    header.total_bytes = offset;
    std::string blob(offset, '\0');
    std::memcpy(blob.data(), &header, sizeof(header));
    std::memcpy(blob.data() + sizeof(header), sections.data(),
                sections.size() * sizeof(TableSection));
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].bytes != 0) {
        std::memcpy(blob.data() + sections[i].offset, parts[i].data, parts[i].bytes);
      }
    }
    return blob;
  }

  const TokenizerSpec& spec_;
  StringPool strings_;
  SettingsRecord settings_ = {};
  std::vector<StepRecord> steps_;
  std::vector<TokenRecord> tokens_;
  std::vector<AddedRecord> added_;
  std::vector<uint32_t> pieces_;
  std::vector<MergeRecord> merges_;
  std::vector<double> scores_;
  int32_t byte_tokens_[256] = {}, fallback_tokens_[256] = {};
};

}  // namespace

StatusOr<std::string> WriteTokenizerTable(const TokenizerSpec& spec) {
  // Memory and strings alike are bounded by the spec; the blob's own start is aligned by its
  // holder.
  return Writer(spec).Write();
}

}  // namespace krafla

// Opening a table: everything is checked once, in passes over the arrays, so that lookups need not
// check. The blob is untrusted; no loop here or in a lookup is longer than the blob or kMaxProbes.
#include "lib/tokenizer/table.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "lib/base/utf8.h"

namespace krafla {
namespace {

static_assert(std::endian::native == std::endian::little, "tables are read in place");
static_assert(sizeof(TableHeader) == 64 && sizeof(TableSection) == 32);
static_assert(sizeof(SettingsRecord) == 64 && sizeof(TokenRecord) == 20);
static_assert(sizeof(MergeRecord) == 16 && sizeof(AddedRecord) == 16 && sizeof(StepRecord) == 32);

constexpr uint32_t kMaxSections = 64;

// The section's records; an empty span if the sizes do not fit T.
template <typename T>
Status ReadSection(std::string_view blob, const TableSection& section, std::span<const T>* out) {
  if (section.bytes != uint64_t{section.count} * sizeof(T)) {
    return FileError("tokenizer table: section {}: {} bytes for {} records of {}", section.kind,
                     section.bytes, section.count, sizeof(T));
  }
  if (!out->empty()) return FileError("tokenizer table: section {} occurs twice", section.kind);
  *out = {reinterpret_cast<const T*>(blob.data() + section.offset), section.count};
  return OkStatus();
}

bool IsPowerOfTwo(size_t n) { return n != 0 && (n & (n - 1)) == 0; }

// Which program a kind belongs to: 0 normaliser ... 3 post-processor; -1: unknown kind.
int ProgramOf(uint32_t kind) {
  if (StepName(static_cast<StepKind>(kind)).empty()) return -1;
  return static_cast<int>(kind / 32);
}

Status ReadHeader(std::string_view blob, TableHeader* header) {
  if (blob.size() < sizeof(*header)) {
    return FileError("tokenizer table: {} bytes, want at least {}", blob.size(), sizeof(*header));
  }
  std::memcpy(header, blob.data(), sizeof(*header));
  if (std::memcmp(header->magic, "KRAFTOK1", 8) != 0) {
    return FileError("tokenizer table: does not start with KRAFTOK1");
  }
  if (header->version != 1) {
    return UnsupportedError("tokenizer table: version {}, want 1", header->version);
  }
  if (header->required != 0) {
    return UnsupportedError("tokenizer table: unknown required features {:#x}", header->required);
  }
  if (header->total_bytes != blob.size()) {
    return FileError("tokenizer table: {} bytes, its header says {}", blob.size(),
                     header->total_bytes);
  }
  if (header->n_sections > kMaxSections ||
      sizeof(*header) + header->n_sections * sizeof(TableSection) > blob.size()) {
    return FileError("tokenizer table: {} sections do not fit", header->n_sections);
  }
  return OkStatus();
}

}  // namespace

std::string_view StepName(StepKind kind) {
  switch (kind) {
    case StepKind::kNfc:
      return "NFC";
    case StepKind::kNfd:
      return "NFD";
    case StepKind::kNfkc:
      return "NFKC";
    case StepKind::kNfkd:
      return "NFKD";
    case StepKind::kReplace:
      return "Replace";
    case StepKind::kPrepend:
      return "Prepend";
    case StepKind::kStrip:
      return "Strip";
    case StepKind::kReplaceRegex:
      return "Replace(Regex)";
    case StepKind::kLowercase:
      return "Lowercase";
    case StepKind::kStripAccents:
      return "StripAccents";
    case StepKind::kNmt:
      return "Nmt";
    case StepKind::kPrecompiled:
      return "Precompiled";
    case StepKind::kByteLevel:
      return "ByteLevel";
    case StepKind::kDigits:
      return "Digits";
    case StepKind::kSplitRegex:
      return "Split(Regex)";
    case StepKind::kSplitLiteral:
      return "Split(String)";
    case StepKind::kMetaspace:
      return "Metaspace";
    case StepKind::kWhitespace:
      return "Whitespace";
    case StepKind::kWhitespaceSplit:
      return "WhitespaceSplit";
    case StepKind::kPunctuation:
      return "Punctuation";
    case StepKind::kDecodeByteLevel:
      return "decoder ByteLevel";
    case StepKind::kDecodeReplace:
      return "decoder Replace";
    case StepKind::kDecodeByteFallback:
      return "decoder ByteFallback";
    case StepKind::kDecodeFuse:
      return "decoder Fuse";
    case StepKind::kDecodeStrip:
      return "decoder Strip";
    case StepKind::kDecodeMetaspace:
      return "decoder Metaspace";
    case StepKind::kAddBefore:
      return "post-processor AddBefore";
    case StepKind::kAddAfter:
      return "post-processor AddAfter";
  }
  return {};
}

StatusOr<TokenizerTable> TokenizerTable::Open(std::string_view blob) {
  TokenizerTable table;
  KRAFLA_RETURN_IF_ERROR(table.ReadSections(blob));
  KRAFLA_RETURN_IF_ERROR(table.CheckSettings());
  KRAFLA_RETURN_IF_ERROR(table.CheckTokens());
  KRAFLA_RETURN_IF_ERROR(table.CheckHashes());
  KRAFLA_RETURN_IF_ERROR(table.CheckAdded());
  KRAFLA_RETURN_IF_ERROR(table.CheckSteps());
  table.merge_mask_ = table.merges_.size() - 1;
  table.merge_probes_ = table.settings_->merge_probes;
  return table;
}

Status TokenizerTable::ReadSections(std::string_view blob) {
  if (reinterpret_cast<uintptr_t>(blob.data()) % kTokenizerTableAlignment != 0) {
    return ArgumentError("tokenizer table: memory is not aligned to {} bytes",
                         kTokenizerTableAlignment);
  }
  TableHeader header;
  KRAFLA_RETURN_IF_ERROR(ReadHeader(blob, &header));
  std::span<const SettingsRecord> settings;
  std::span<const char> strings, charsmap;
  for (uint32_t i = 0; i < header.n_sections; ++i) {
    TableSection s;
    std::memcpy(&s, blob.data() + sizeof(header) + i * sizeof(s), sizeof(s));
    if (s.offset % kTokenizerTableAlignment != 0 || s.offset > blob.size() ||
        s.bytes > blob.size() - s.offset) {
      return FileError("tokenizer table: section {} at {} of {} bytes does not fit", s.kind,
                       s.offset, s.bytes);
    }
    Status status;
    switch (static_cast<SectionKind>(s.kind)) {
      case SectionKind::kSettings:
        status = ReadSection(blob, s, &settings);
        break;
      case SectionKind::kStrings:
        status = ReadSection(blob, s, &strings);
        break;
      case SectionKind::kTokens:
        status = ReadSection(blob, s, &tokens_);
        break;
      case SectionKind::kPieces:
        status = ReadSection(blob, s, &pieces_);
        break;
      case SectionKind::kMerges:
        status = ReadSection(blob, s, &merges_);
        break;
      case SectionKind::kByteTokens:
        status = ReadSection(blob, s, &byte_tokens_);
        break;
      case SectionKind::kFallbackTokens:
        status = ReadSection(blob, s, &fallback_tokens_);
        break;
      case SectionKind::kAddedTokens:
        status = ReadSection(blob, s, &added_);
        break;
      case SectionKind::kSteps:
        status = ReadSection(blob, s, &steps_);
        break;
      case SectionKind::kScores:
        status = ReadSection(blob, s, &scores_);
        break;
      case SectionKind::kCharsmap:
        status = ReadSection(blob, s, &charsmap);
        break;
      default:
        break;  // a later addition that this reader may ignore
    }
    KRAFLA_RETURN_IF_ERROR(status);
  }
  if (settings.size() != 1) return FileError("tokenizer table: {} settings", settings.size());
  settings_ = settings.data();
  strings_ = {strings.data(), strings.size()};
  charsmap_ = {charsmap.data(), charsmap.size()};
  return OkStatus();
}

Status TokenizerTable::CheckSettings() const {
  const SettingsRecord& s = *settings_;
  if (s.model != kModelBpe && s.model != kModelUnigram) {
    return UnsupportedError("tokenizer table: model {}, want 1 or 2", s.model);
  }
  if (s.model == kModelUnigram && scores_.size() != tokens_.size()) {
    return FileError("tokenizer table: {} scores for {} tokens", scores_.size(), tokens_.size());
  }
  for (double score : scores_) {
    if (!std::isfinite(score)) return FileError("tokenizer table: a score is not finite");
  }
  const uint32_t known =
      kSettingIgnoreMerges | kSettingByteFallback | kSettingFuseUnk | kSettingDropFirst;
  if ((s.flags & ~known) != 0) {
    return UnsupportedError("tokenizer table: unknown settings {:#x}", s.flags & ~known);
  }
  if (tokens_.empty() || tokens_.size() > kMaxTokens) {
    return FileError("tokenizer table: {} tokens, want 1 to {}", tokens_.size(), kMaxTokens);
  }
  for (int32_t id : {s.unk_id, s.bos_id, s.eos_id, s.pad_id}) {
    if (!IsTokenOrNone(id)) {
      return FileError("tokenizer table: special id {} of {} tokens", id, tokens_.size());
    }
  }
  if (byte_tokens_.size() != 256 || fallback_tokens_.size() != 256) {
    return FileError("tokenizer table: byte tokens {} and {}, want 256 each", byte_tokens_.size(),
                     fallback_tokens_.size());
  }
  for (int i = 0; i < 256; ++i) {
    if (!IsTokenOrNone(byte_tokens_[i]) || !IsTokenOrNone(fallback_tokens_[i])) {
      return FileError("tokenizer table: byte token {}: no such id", i);
    }
  }
  if (!HasString(s.strip_text, s.strip_bytes) || s.strip_bytes > 64) {
    return FileError("tokenizer table: strip text at {} of {} bytes", s.strip_text, s.strip_bytes);
  }
  return OkStatus();
}

Status TokenizerTable::CheckTokens() const {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const TokenRecord& t = tokens_[i];
    if (!HasString(t.text, t.text_bytes) || !HasString(t.bytes, t.n_bytes) ||
        t.text_bytes > kMaxTokenBytes || t.n_bytes > kMaxTokenBytes) {
      return FileError("tokenizer table: token {}: its text does not fit", i);
    }
  }
  return OkStatus();
}

Status TokenizerTable::CheckHashes() const {
  if (!IsPowerOfTwo(pieces_.size()) || !IsPowerOfTwo(merges_.size())) {
    return FileError("tokenizer table: hash sizes {} and {}, want powers of two", pieces_.size(),
                     merges_.size());
  }
  if (settings_->piece_probes > kMaxProbes || settings_->merge_probes > kMaxProbes) {
    return FileError("tokenizer table: probes {} and {}, want at most {}", settings_->piece_probes,
                     settings_->merge_probes, kMaxProbes);
  }
  for (uint32_t id : pieces_) {
    if (id != kNoEntry && id >= tokens_.size()) {
      return FileError("tokenizer table: piece {} of {} tokens", id, tokens_.size());
    }
  }
  for (const MergeRecord& m : merges_) {
    if (m.left != kNoEntry &&
        (m.left >= tokens_.size() || m.right >= tokens_.size() || m.result >= tokens_.size())) {
      return FileError("tokenizer table: merge {} + {} = {} of {} tokens", m.left, m.right,
                       m.result, tokens_.size());
    }
  }
  return OkStatus();
}

Status TokenizerTable::CheckAdded() const {
  const uint32_t n_raw = settings_->n_raw_added;
  if (n_raw > added_.size()) {
    return FileError("tokenizer table: {} raw added tokens of {}", n_raw, added_.size());
  }
  for (size_t i = 0; i < added_.size(); ++i) {
    const AddedRecord& a = added_[i];
    if (a.id >= tokens_.size() || !HasString(a.match, a.match_bytes) || a.match_bytes == 0 ||
        a.match_bytes > kMaxAddedTokenBytes) {
      return FileError("tokenizer table: added token {}: id {}, text of {} bytes", i, a.id,
                       a.match_bytes);
    }
    const std::string_view match = String(a.match, a.match_bytes);
    // A match then starts and ends between code points.
    if (ValidUtf8Prefix(match) != match.size()) {
      return FileError("tokenizer table: added token {} is not UTF-8", i);
    }
    // The search walks sorted texts (string_view compares bytes as unsigned).
    if (i != 0 && i != n_raw && match <= String(added_[i - 1].match, added_[i - 1].match_bytes)) {
      return FileError("tokenizer table: added token {} is out of order", i);
    }
  }
  return OkStatus();
}

Status TokenizerTable::CheckSteps() const {
  uint64_t total = 0;
  for (uint32_t n : settings_->n_steps) {
    if (n > kMaxSteps) return FileError("tokenizer table: {} steps, want at most {}", n, kMaxSteps);
    total += n;
  }
  if (total != steps_.size()) {
    return FileError("tokenizer table: {} steps, settings say {}", steps_.size(), total);
  }
  for (int program = 0; program < 4; ++program) {
    for (const StepRecord& step : steps(program)) {
      const int owner = ProgramOf(step.kind);
      if (owner < 0) return UnsupportedError("tokenizer table: unknown step kind {}", step.kind);
      if (owner != program) {
        return FileError("tokenizer table: {} in program {}",
                         StepName(static_cast<StepKind>(step.kind)), program);
      }
      if (!HasString(step.text, step.text_bytes) || !HasString(step.text2, step.text2_bytes) ||
          step.text_bytes > kMaxStepBytes || step.text2_bytes > kMaxStepBytes) {
        return FileError("tokenizer table: {}: its text does not fit",
                         StepName(static_cast<StepKind>(step.kind)));
      }
      for (std::string_view text :
           {String(step.text, step.text_bytes), String(step.text2, step.text2_bytes)}) {
        if (ValidUtf8Prefix(text) != text.size()) {
          return FileError("tokenizer table: {}: its text is not UTF-8",
                           StepName(static_cast<StepKind>(step.kind)));
        }
      }
      if (program == 3 && step.arg >= tokens_.size()) {
        return FileError("tokenizer table: post-processor adds id {} of {} tokens", step.arg,
                         tokens_.size());
      }
    }
  }
  return OkStatus();
}

std::span<const StepRecord> TokenizerTable::steps(int program) const {
  size_t first = 0;
  for (int i = 0; i < program; ++i) first += settings_->n_steps[i];
  return steps_.subspan(first, settings_->n_steps[program]);
}

int32_t TokenizerTable::FindPiece(std::string_view text, uint64_t hash) const {
  const uint64_t mask = pieces_.size() - 1;
  uint64_t slot = hash;
  for (uint32_t i = 0; i <= settings_->piece_probes; ++i, ++slot) {
    const uint32_t id = pieces_[slot & mask];
    if (id == kNoEntry) return -1;
    if (Text(tokens_[id]) == text) return static_cast<int32_t>(id);
  }
  return -1;
}

}  // namespace krafla

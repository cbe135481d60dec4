// The stages in order: raw added tokens, normaliser, normalised added tokens, pre-tokenizer, model,
// post-processor. Each stage has its own file; here they are joined and the ids collected.
#include "lib/tokenizer/tokenizer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/tokenizer/added_tokens.h"
#include "lib/tokenizer/bpe.h"
#include "lib/tokenizer/normalizer.h"
#include "lib/tokenizer/pre_tokenizer.h"
#include "lib/tokenizer/table.h"
#include "lib/tokenizer/unigram.h"

namespace krafla {
namespace {

constexpr size_t kMaxText = size_t{1} << 31;

}  // namespace

struct Tokenizer::Impl {
  Impl(const TokenizerTable& t, Normalizer n, PreTokenizer p)
      : table(t),
        raw_added(&table, table.added().first(table.settings().n_raw_added)),
        normalized_added(&table, table.added().subspan(table.settings().n_raw_added)),
        normalizer(std::move(n)),
        pre_tokenizer(std::move(p)),
        bpe(&table) {
    if (table.settings().model == kModelUnigram) unigram.emplace(&table);
    for (const StepRecord& step : table.steps(3)) {
      auto& side = step.kind == static_cast<uint32_t>(StepKind::kAddBefore) ? before : after;
      side.push_back(static_cast<int32_t>(step.arg));
    }
  }

  struct Scratch {
    std::vector<AddedSpan> raw_spans, normalized_spans;
    TrustedText normalized;
    Words words;
    BpeScratch bpe;
    UnigramScratch unigram;
  };

  Status Encode(std::string_view text, const Trust& trust, bool add_special,
                std::vector<int32_t>* ids) const;
  Status EncodeStretch(std::string_view text, const Trust& trust, bool at_start, Scratch* scratch,
                       std::vector<int32_t>* ids) const;
  const TokenRecord* Find(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= table.tokens().size()) return nullptr;
    const TokenRecord& t = table.tokens()[static_cast<size_t>(id)];
    return (t.flags & kTokenPresent) != 0 ? &t : nullptr;
  }
  Status NoSuchId(int32_t id) const {
    return ArgumentError("tokenizer: id {} is not in the vocabulary of {}", id,
                         table.tokens().size());
  }

  TokenizerTable table;
  AddedTokens raw_added, normalized_added;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Bpe bpe;
  std::optional<Unigram> unigram;      // in the place of bpe
  std::vector<int32_t> before, after;  // what the post-processor adds
};

Tokenizer::Tokenizer(std::string_view source, std::unique_ptr<Impl> impl)
    : source_(source), impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

StatusOr<std::unique_ptr<Tokenizer>> Tokenizer::Open(std::string_view blob) {
  KRAFLA_ASSIGN_OR_RETURN(const TokenizerTable table, TokenizerTable::Open(blob));
  KRAFLA_ASSIGN_OR_RETURN(Normalizer normalizer,
                          Normalizer::Make(ViewSteps(table, 0), table.charsmap()));
  KRAFLA_ASSIGN_OR_RETURN(PreTokenizer pre_tokenizer, PreTokenizer::Make(ViewSteps(table, 1)));
  if (table.settings().model == kModelUnigram && pre_tokenizer.gives_bytes()) {
    return UnsupportedError("tokenizer: Unigram over bytes");
  }
  return std::unique_ptr<Tokenizer>(new Tokenizer(
      blob, std::make_unique<Impl>(table, std::move(normalizer), std::move(pre_tokenizer))));
}

Status Tokenizer::Impl::EncodeStretch(std::string_view text, const Trust& trust, bool at_start,
                                      Scratch* scratch, std::vector<int32_t>* ids) const {
  Trust normalized_trust = trust;
  size_t head = at_start && !text.empty() ? DecodeUtf8(text).length : 0;
  if (!normalizer.IsIdentity()) {
    // Trust is carried through only where a special token can still be found.
    const bool needs_trust = normalized_added.has_special();
    KRAFLA_RETURN_IF_ERROR(
        normalizer.Normalize(text, needs_trust ? trust.bytes : std::span<const uint8_t>(), at_start,
                             &scratch->normalized));
    text = scratch->normalized.text;
    head = scratch->normalized.head;
    normalized_trust.bytes = scratch->normalized.trust;
  }
  normalized_added.Split(text, normalized_trust, &scratch->normalized_spans);
  for (const AddedSpan& span : scratch->normalized_spans) {
    if (span.id >= 0) {
      ids->push_back(span.id);
      continue;
    }
    Words& words = scratch->words;
    const std::string_view part = text.substr(span.begin, span.end - span.begin);
    const size_t head_of_part = head - std::min<size_t>(head, span.begin);
    KRAFLA_RETURN_IF_ERROR(pre_tokenizer.Run(part, std::min(head_of_part, part.size()), &words));
    for (const WordRange& range : words.ranges) {
      const std::string_view word = words.text.substr(range.begin, range.end - range.begin);
      if (unigram.has_value()) {
        unigram->Encode(word, &scratch->unigram, ids);
      } else {
        bpe.Encode(word, pre_tokenizer.gives_bytes(), &scratch->bpe, ids);
      }
    }
  }
  return OkStatus();
}

Status Tokenizer::Impl::Encode(std::string_view text, const Trust& trust, bool add_special,
                               std::vector<int32_t>* ids) const {
  if (text.size() >= kMaxText) {
    return ArgumentError("tokenizer: text of {} bytes, want less than 2 GiB", text.size());
  }
  if (const size_t valid = ValidUtf8Prefix(text); valid != text.size()) {
    return ArgumentError("tokenizer: text is not UTF-8 at byte {}", valid);
  }
  Scratch scratch;
  std::vector<int32_t> result;
  result.reserve(text.size() / 3 + before.size() + after.size());
  if (add_special) result.assign(before.begin(), before.end());
  raw_added.Split(text, trust, &scratch.raw_spans);
  for (const AddedSpan& span : scratch.raw_spans) {
    if (span.id >= 0) {
      result.push_back(span.id);
      continue;
    }
    Trust part = trust;
    if (!trust.bytes.empty()) part.bytes = trust.bytes.subspan(span.begin, span.end - span.begin);
    KRAFLA_RETURN_IF_ERROR(EncodeStretch(text.substr(span.begin, span.end - span.begin), part,
                                         span.begin == 0, &scratch, &result));
  }
  if (add_special) result.insert(result.end(), after.begin(), after.end());
  ids->swap(result);
  return OkStatus();
}

Status Tokenizer::Encode(std::string_view text, bool add_special, bool parse_special,
                         std::vector<int32_t>* ids) const {
  return impl_->Encode(text, Trust{parse_special, {}}, add_special, ids);
}

Status Tokenizer::EncodePieces(std::span<const TextPiece> pieces, bool add_special,
                               std::vector<int32_t>* ids) const {
  size_t total = 0;
  bool any_trusted = false, all_trusted = true;
  for (const TextPiece& piece : pieces) {
    if (piece.text.size() >= kMaxText - total) {
      return ArgumentError("tokenizer: pieces of 2 GiB or more");
    }
    total += piece.text.size();
    if (piece.text.empty()) continue;
    any_trusted |= piece.trusted;
    all_trusted &= piece.trusted;
  }
  std::string text;
  text.reserve(total);
  for (const TextPiece& piece : pieces) text.append(piece.text);
  if (any_trusted == all_trusted)
    return impl_->Encode(text, Trust{all_trusted, {}}, add_special, ids);
  std::vector<uint8_t> trust;
  trust.reserve(total);
  for (const TextPiece& piece : pieces) trust.insert(trust.end(), piece.text.size(), piece.trusted);
  return impl_->Encode(text, Trust{false, trust}, add_special, ids);
}

Status Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special, std::string* text) const {
  StreamDecoder decoder(this, skip_special);
  std::string result;
  for (int32_t id : ids) KRAFLA_RETURN_IF_ERROR(decoder.Push(id, &result));
  text->swap(result);
  return OkStatus();
}

StatusOr<std::string_view> Tokenizer::TokenBytes(int32_t id) const {
  const TokenRecord* token = impl_->Find(id);
  if (token == nullptr) return impl_->NoSuchId(id);
  return impl_->table.Bytes(*token);
}

StatusOr<std::string_view> Tokenizer::TokenText(int32_t id) const {
  const TokenRecord* token = impl_->Find(id);
  if (token == nullptr) return impl_->NoSuchId(id);
  return impl_->table.Text(*token);
}

int32_t Tokenizer::FindToken(std::string_view text) const {
  const int32_t id = impl_->table.FindPiece(text);
  return impl_->Find(id) == nullptr ? kNoToken : id;
}

bool Tokenizer::Has(int32_t id) const { return impl_->Find(id) != nullptr; }

bool Tokenizer::IsSpecial(int32_t id) const {
  const TokenRecord* token = impl_->Find(id);
  return token != nullptr && (token->flags & kTokenSpecial) != 0;
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->table.tokens().size()); }
int32_t Tokenizer::bos_id() const { return impl_->table.settings().bos_id; }
int32_t Tokenizer::eos_id() const { return impl_->table.settings().eos_id; }
int32_t Tokenizer::unk_id() const { return impl_->table.settings().unk_id; }
int32_t Tokenizer::pad_id() const { return impl_->table.settings().pad_id; }
bool Tokenizer::adds_bos() const {
  return !impl_->before.empty() && impl_->before.front() == bos_id();
}

Status StreamDecoder::Push(int32_t id, std::string* text) {
  const Tokenizer::Impl& impl = *tokenizer_->impl_;
  const TokenRecord* token = impl.Find(id);
  if (token == nullptr) return impl.NoSuchId(id);
  if (skip_special_ && (token->flags & kTokenSpecial) != 0) return OkStatus();
  const SettingsRecord& settings = impl.table.settings();
  std::string_view bytes = impl.table.Bytes(*token);
  const std::string_view strip = impl.table.String(settings.strip_text, settings.strip_bytes);
  if ((settings.flags & kSettingDropFirst) != 0) {
    if (first_ && !strip.empty()) {
      // Metaspace: the first token's word marks stand for nothing.
      std::string_view rest = impl.table.Text(*token);
      for (size_t at; (at = rest.find(strip)) != rest.npos; rest.remove_prefix(at + strip.size())) {
        text->append(rest.substr(0, at));
      }
      bytes = rest;
    }
  } else if (stripping_ && !strip.empty()) {
    while (stripped_ < settings.strip_count && bytes.starts_with(strip)) {
      bytes.remove_prefix(strip.size());
      ++stripped_;
    }
    stripping_ = stripped_ < settings.strip_count && bytes.empty();
  }
  text->append(bytes);
  first_ = false;
  return OkStatus();
}

}  // namespace krafla

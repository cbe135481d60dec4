// See vocabulary.h.
#include "lib/constraint/vocabulary.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "lib/base/utf8.h"
#include "lib/constraint/special_bytes.h"

namespace krafla {
namespace {

struct Entry {
  std::string_view bytes;
  int32_t id;
};

// The number of its characters, 0 where the text is not plain.
uint32_t PlainLength(std::string_view text) {
  if (ValidUtf8Prefix(text) != text.size()) return 0;
  uint32_t n = 0;
  for (char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80 && !IsPlainAscii(byte)) return 0;
    n += (byte & 0xC0) != 0x80 ? 1 : 0;
  }
  return n;
}

// Bytes that no UTF-8 has stand for special tokens.
bool MayBeText(std::string_view bytes) {
  return std::none_of(bytes.begin(), bytes.end(),
                      [](char c) { return static_cast<uint8_t>(c) >= 0xF8; });
}

void Close(TokenTrie* trie, std::vector<uint32_t>* path, size_t depth) {
  for (; path->size() > depth; path->pop_back()) {
    trie->nodes[path->back()].end = static_cast<uint32_t>(trie->nodes.size());
  }
}

TokenTrie BuildTrie(std::vector<Entry> entries) {
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.bytes != b.bytes ? a.bytes < b.bytes : a.id < b.id;
  });
  TokenTrie trie;
  std::vector<uint32_t> path;
  std::string_view before;
  for (const Entry& entry : entries) {
    const auto differ =
        std::mismatch(before.begin(), before.end(), entry.bytes.begin(), entry.bytes.end());
    Close(&trie, &path, static_cast<size_t>(differ.first - before.begin()));
    for (size_t i = path.size(); i < entry.bytes.size(); ++i) {
      path.push_back(static_cast<uint32_t>(trie.nodes.size()));
      trie.nodes.push_back({0, static_cast<uint32_t>(trie.tokens.size()),
                            static_cast<uint8_t>(entry.bytes[i]), 0, static_cast<uint16_t>(i + 1)});
      trie.max_depth = std::max(trie.max_depth, trie.nodes.back().depth);
    }
    TrieNode& node = trie.nodes[path.back()];
    if (node.n_tokens < 255) {
      ++node.n_tokens;
      trie.tokens.push_back(entry.id);
    }
    before = entry.bytes;
  }
  Close(&trie, &path, 0);
  return trie;
}

}  // namespace

StatusOr<std::shared_ptr<const Vocabulary>> Vocabulary::Create(
    std::shared_ptr<const Tokenizer> tokenizer) {
  std::shared_ptr<Vocabulary> out(new Vocabulary());
  out->tokenizer_ = std::move(tokenizer);
  std::vector<Entry> other;
  std::deque<std::string> specials;
  std::array<std::vector<Entry>, kPlainLengths.size()> plain;
  for (int32_t id = 0; id < out->tokenizer_->vocab_size(); ++id) {
    const auto bytes = out->tokenizer_->TokenBytes(id);
    if (!bytes.ok()) continue;
    if (out->tokenizer_->IsSpecial(id)) {
      specials.push_back(SpecialBytes(id));
      other.push_back({specials.back(), id});
      continue;
    }
    if (bytes->empty() || !MayBeText(*bytes)) continue;
    const uint32_t length = PlainLength(*bytes);
    if (length == 0) {
      other.push_back({*bytes, id});
      continue;
    }
    size_t bucket = 0;
    while (length > kPlainLengths[bucket]) ++bucket;
    plain[bucket].push_back({*bytes, id});
  }
  out->other_ = BuildTrie(std::move(other));
  std::vector<uint32_t> mask(out->mask_words(), 0);
  for (size_t i = 0; i < plain.size(); ++i) {
    for (const Entry& entry : plain[i]) {
      mask[static_cast<size_t>(entry.id) / 32] |= 1u << (entry.id % 32);
    }
    out->plain_masks_[i] = mask;
    out->plain_[i] = BuildTrie(std::move(plain[i]));
  }
  return std::shared_ptr<const Vocabulary>(std::move(out));
}

}  // namespace krafla

// The two merge loops, and the symbols a word starts from with Hugging Face's rules for what is
// unknown.
#include "lib/tokenizer/bpe.h"

#include <algorithm>
#include <functional>

#include "lib/base/utf8.h"
#include "lib/tokenizer/byte_alphabet.h"

namespace krafla {
namespace {

constexpr size_t kShortWord = 40;  // symbols; up to here the scan costs less than the heap
constexpr uint32_t kNoRank = 0xFFFFFFFF;
constexpr uint32_t kEnd = 0xFFFFFFFF;  // no neighbour

}  // namespace

bool Bpe::IsModelToken(int32_t id) const {
  return id >= 0 && krafla::IsModelToken(table_->tokens()[static_cast<size_t>(id)]);
}

void Bpe::ReadSymbols(std::string_view word, bool is_bytes, BpeScratch* scratch) const {
  const SettingsRecord& settings = table_->settings();
  std::vector<uint32_t>& symbols = scratch->symbols;
  symbols.clear();
  bool has_unk = false;  // an unknown token is waiting for its neighbours
  const auto flush_unk = [&] {
    if (has_unk) symbols.push_back(static_cast<uint32_t>(settings.unk_id));
    has_unk = false;
  };
  for (size_t at = 0; at < word.size();) {
    int32_t id;
    std::string_view letter;
    if (is_bytes) {
      const auto byte = static_cast<uint8_t>(word[at]);
      id = table_->ByteToken(byte);
      if (id < 0) {
        scratch->letters.clear();
        AppendUtf8(ByteLetter(byte), &scratch->letters);
        letter = scratch->letters;
      }
      ++at;
    } else {
      letter = word.substr(at, DecodeUtf8(word.substr(at)).length);
      id = table_->FindPiece(letter);
      if (!IsModelToken(id)) id = -1;
      at += letter.size();
    }
    if (id >= 0) {
      flush_unk();
      symbols.push_back(static_cast<uint32_t>(id));
      continue;
    }
    if ((settings.flags & kSettingByteFallback) != 0 &&
        std::all_of(letter.begin(), letter.end(),
                    [&](char c) { return table_->FallbackToken(static_cast<uint8_t>(c)) >= 0; })) {
      // An unknown token that waits comes behind these: so it is there, too.
      for (char c : letter) {
        symbols.push_back(static_cast<uint32_t>(table_->FallbackToken(static_cast<uint8_t>(c))));
      }
      continue;
    }
    if (settings.unk_id < 0) continue;  // dropped
    if ((settings.flags & kSettingFuseUnk) == 0) flush_unk();
    has_unk = true;
  }
  flush_unk();
}

// Merges in place and returns how many symbols are left.
size_t Bpe::MergeShort(uint32_t* symbols, size_t n) const {
  uint32_t ranks[kShortWord], results[kShortWord];
  const auto look_up = [&](size_t i) {
    const MergeRecord* merge = table_->FindMerge(symbols[i], symbols[i + 1]);
    ranks[i] = merge == nullptr ? kNoRank : merge->rank;
    results[i] = merge == nullptr ? 0 : merge->result;
  };
  for (size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    const size_t best = static_cast<size_t>(std::min_element(ranks, ranks + n - 1) - ranks);
    if (ranks[best] == kNoRank) break;
    symbols[best] = results[best];
    std::copy(symbols + best + 2, symbols + n, symbols + best + 1);
    std::copy(ranks + best + 1, ranks + n - 1, ranks + best);
    std::copy(results + best + 1, results + n - 1, results + best);
    --n;
    if (best > 0) look_up(best - 1);
    if (best + 1 < n) look_up(best);
  }
  return n;
}

void Bpe::MergeLong(BpeScratch* scratch, std::vector<int32_t>* ids) const {
  std::vector<uint32_t>& symbols = scratch->symbols;
  std::vector<uint32_t>& prev = scratch->prev;
  std::vector<uint32_t>& next = scratch->next;
  std::vector<uint64_t>& heap = scratch->heap;  // rank << 32 | position of the left symbol
  const auto n = static_cast<uint32_t>(symbols.size());
  prev.resize(n);
  next.resize(n);
  heap.clear();
  const auto candidate = [&](uint32_t left) {
    if (next[left] == kEnd) return ~uint64_t{0};
    const MergeRecord* merge = table_->FindMerge(symbols[left], symbols[next[left]]);
    return merge == nullptr ? ~uint64_t{0} : uint64_t{merge->rank} << 32 | left;
  };
  const auto push = [&](uint32_t left) {
    const uint64_t entry = candidate(left);
    if (entry == ~uint64_t{0}) return;
    heap.push_back(entry);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  for (uint32_t i = 0; i < n; ++i) {
    prev[i] = i == 0 ? kEnd : i - 1;
    next[i] = i + 1 == n ? kEnd : i + 1;
  }
  for (uint32_t i = 0; i + 1 < n; ++i) {
    if (const uint64_t entry = candidate(i); entry != ~uint64_t{0}) heap.push_back(entry);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    const uint64_t top = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto left = static_cast<uint32_t>(top);
    // A symbol that was merged away has no next; one that changed has another candidate.
    if (candidate(left) != top) continue;
    const uint32_t right = next[left];
    symbols[left] = table_->FindMerge(symbols[left], symbols[right])->result;
    next[left] = next[right];
    if (next[right] != kEnd) prev[next[right]] = left;
    next[right] = kEnd;
    if (prev[left] != kEnd) push(prev[left]);
    push(left);
  }
  for (uint32_t i = 0; i != kEnd; i = next[i]) ids->push_back(static_cast<int32_t>(symbols[i]));
}

void Bpe::Encode(std::string_view word, bool is_bytes, BpeScratch* scratch,
                 std::vector<int32_t>* ids) const {
  if ((table_->settings().flags & kSettingIgnoreMerges) != 0) {
    std::string_view text = word;
    if (is_bytes) {
      scratch->letters.clear();
      AppendByteLetters(word, &scratch->letters);
      text = scratch->letters;
    }
    if (const int32_t id = table_->FindPiece(text); IsModelToken(id)) {
      ids->push_back(id);
      return;
    }
  }
  ReadSymbols(word, is_bytes, scratch);
  if (scratch->symbols.empty()) return;
  if (scratch->symbols.size() > kShortWord) {
    MergeLong(scratch, ids);
    return;
  }
  const size_t n = MergeShort(scratch->symbols.data(), scratch->symbols.size());
  ids->insert(ids->end(), scratch->symbols.begin(),
              scratch->symbols.begin() + static_cast<ptrdiff_t>(n));
}

}  // namespace krafla

// Masks: which tokens a configuration allows. A token is allowed where its bytes lead to a
// configuration that is not dead. Tokens that share a beginning share the walk over it, and inside
// a string the plain tokens, nearly all of a vocabulary, are allowed without any walk.
#include <algorithm>

#include "lib/constraint/walker.h"

namespace krafla {

bool Walker::Mask(ConfigId config, std::span<uint32_t> bits) {
  if (const uint32_t known = configs_[config].mask; known != kUnknown) {
    std::copy(masks_[known].begin(), masks_[known].end(), bits.begin());
    return true;
  }
  std::fill(bits.begin(), bits.end(), 0);
  const uint8_t run = PlainRun(config);
  size_t bucket = 0;
  for (; bucket < Vocabulary::kPlainLengths.size(); ++bucket) {
    if (run != kEndlessRun && Vocabulary::kPlainLengths[bucket] > run) break;
  }
  if (bucket > 0) {
    const std::span<const uint32_t> plain = vocabulary_->plain_mask(bucket - 1);
    std::copy(plain.begin(), plain.end(), bits.begin());
  }
  for (; bucket < Vocabulary::kPlainLengths.size(); ++bucket) {
    if (!Walk(vocabulary_->plain(bucket), config, true, bits)) return false;
  }
  if (!Walk(vocabulary_->other(), config, false, bits)) return false;
  if (bytes() < kMaxBytes) {
    masks_.emplace_back(bits.begin(), bits.end());
    configs_[config].mask = static_cast<uint32_t>(masks_.size() - 1);
  }
  return true;
}

bool Walker::Walk(const TokenTrie& trie, ConfigId config, bool plain, std::span<uint32_t> bits) {
  path_.resize(std::max<size_t>(path_.size(), trie.max_depth + 1u));
  path_[0] = config;
  const auto allow = [&](uint32_t first, uint32_t last) {
    for (uint32_t t = first; t < last; ++t) {
      const auto id = static_cast<uint32_t>(trie.tokens[t]);
      bits[id / 32] |= 1u << (id % 32);
    }
  };
  const auto n = static_cast<uint32_t>(trie.nodes.size());
  for (uint32_t i = 0; i < n;) {
    const TrieNode& node = trie.nodes[i];
    const ConfigId next = Next(path_[node.depth - 1u], node.byte);
    if (next == kDead) {
      i = node.end;
      continue;
    }
    if (next == kTooLarge) return false;
    if (plain && node.end > i + 1 && PlainRun(next) == kEndlessRun) {
      allow(node.token,
            node.end < n ? trie.nodes[node.end].token : static_cast<uint32_t>(trie.tokens.size()));
      i = node.end;
      continue;
    }
    allow(node.token, node.token + node.n_tokens);
    path_[node.depth] = next;
    ++i;
  }
  return true;
}

// How many plain characters, whichever they are, surely keep the configuration alive.
uint8_t Walker::PlainRun(ConfigId config) {
  if (configs_[config].plain_run != kUnknownRun) return configs_[config].plain_run;
  uint8_t run = 0;
  for (ConfigId at = config; run < kLongestRun; ++run) {
    const ConfigId next = PlainNext(at);
    if (next == at) run = kEndlessRun;
    if (next == at || next == kDead) break;
    at = next;
  }
  configs_[config].plain_run = run;
  return run;
}

ConfigId Walker::PlainNext(ConfigId config) {
  if (configs_[config].plain_next == kUnknown) {
    const ConfigId next = ComputePlainNext(config);
    configs_[config].plain_next = next == kTooLarge ? kDead : next;
  }
  return configs_[config].plain_next;
}

// Where every byte of a range leads, if that is one place; otherwise kDead.
ConfigId Walker::Through(ConfigId config, uint8_t first, uint8_t last) {
  ConfigId to = kUnknown;
  uint32_t before = n_classes_;
  for (uint32_t byte = first; byte <= last; ++byte) {
    const uint32_t cls = automaton_.byte_class(static_cast<uint8_t>(byte));
    if (cls == before) continue;
    before = cls;
    const ConfigId next = Next(config, static_cast<uint8_t>(byte));
    if (to == kUnknown) to = next;
    if (next != to || next == kTooLarge) return kDead;
  }
  return to;
}

// Where every plain character leads, if that is one place; otherwise kDead.
ConfigId Walker::ComputePlainNext(ConfigId config) {
  ConfigId to = Through(config, '#', '[');
  if (to == kDead) return kDead;
  if (Through(config, ' ', '!') != to || Through(config, ']', '~') != to) return kDead;
  // The well-formed sequences of UTF-8 (Unicode 15, table 3-7).
  static constexpr struct {
    uint8_t lead, lead_last, second, second_last, tails;
  } kSequences[] = {{0xC2, 0xDF, 0x80, 0xBF, 0}, {0xE0, 0xE0, 0xA0, 0xBF, 1},
                    {0xE1, 0xEC, 0x80, 0xBF, 1}, {0xED, 0xED, 0x80, 0x9F, 1},
                    {0xEE, 0xEF, 0x80, 0xBF, 1}, {0xF0, 0xF0, 0x90, 0xBF, 2},
                    {0xF1, 0xF3, 0x80, 0xBF, 2}, {0xF4, 0xF4, 0x80, 0x8F, 2}};
  for (const auto& sequence : kSequences) {
    ConfigId at = Through(config, sequence.lead, sequence.lead_last);
    if (at != kDead) at = Through(at, sequence.second, sequence.second_last);
    for (int i = 0; i < sequence.tails && at != kDead; ++i) at = Through(at, 0x80, 0xBF);
    if (at != to) return kDead;
  }
  return to;
}

}  // namespace krafla

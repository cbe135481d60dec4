// Walks through an automaton, remembered. A configuration is what a text so far leaves open: a set
// of threads, each a node with a stack, and whether the text may end. Each is computed once; a step
// from one by a byte, and its mask over a vocabulary, too. One walker serves all states of a
// constraint until it has grown large (constraint.h). Not for two threads at once.
#ifndef KRAFLA_LIB_CONSTRAINT_WALKER_H_
#define KRAFLA_LIB_CONSTRAINT_WALKER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "lib/constraint/automaton.h"
#include "lib/constraint/frames.h"
#include "lib/constraint/vocabulary.h"

namespace krafla {

using ConfigId = uint32_t;

class Walker {
 public:
  static constexpr ConfigId kDead = 0;  // nothing can follow, and the text is no whole one
  static constexpr ConfigId kTooLarge = 0xFFFFFFFE;  // no configuration: a limit was met
  static constexpr size_t kMaxBytes = 48u << 20;

  // Without a vocabulary (null) there are no masks.
  Walker(const Automaton* automaton, const Vocabulary* vocabulary);

  ConfigId Start();
  // The same configuration in this walker; kTooLarge where it does not fit.
  ConfigId Import(const Walker& from, ConfigId config);
  ConfigId Next(ConfigId config, uint8_t byte) {
    const uint32_t cls = automaton_.byte_class(byte);
    const ConfigId next = table_[size_t{config} * n_classes_ + cls];
    return next != kUnknown ? next : Compute(config, cls);
  }

  bool complete(ConfigId config) const { return configs_[config].complete; }
  bool open(ConfigId config) const { return configs_[config].n_threads != 0; }

  // Allowed tokens, a bit an id; false: a limit was met.
  bool Mask(ConfigId config, std::span<uint32_t> bits);
  // The only byte that can follow, -1 where several can or the text may end, -2: a limit was met.
  int ForcedByte(ConfigId config);

  bool full() const { return bytes() > kMaxBytes / 2; }  // time for a new one

  std::mutex mutex;

 private:
  static constexpr ConfigId kUnknown = 0xFFFFFFFF;
  static constexpr uint8_t kUnknownRun = 0xFF, kEndlessRun = 0xFE;
  static constexpr uint8_t kLongestRun = 16;

  struct Thread {
    uint32_t node, stack;
    friend bool operator==(const Thread& a, const Thread& b) {
      return a.node == b.node && a.stack == b.stack;
    }
  };
  struct Config {
    uint32_t first_thread = 0, n_threads = 0;
    bool complete = false;
    uint8_t plain_run = kUnknownRun;
    int16_t forced = -3;  // ForcedByte, -3: not known
    ConfigId plain_next = kUnknown;
    uint32_t mask = kUnknown;  // index in masks_
  };

  size_t bytes() const;
  ConfigId Compute(ConfigId config, uint32_t cls);
  // closure.cc: everything that the threads in work_ come to without a byte.
  void Clear();
  void Add(uint32_t node, uint32_t stack);
  void GrowSeen();
  void Close();
  void Enter(uint32_t site, uint32_t stack);
  void Return(uint32_t stack);
  bool Fits(RuleId rule, uint32_t below) const;
  bool OfferMembers(uint32_t site, uint32_t below, const SeenMembers& seen, bool add);
  bool OfferMember(uint32_t site, uint32_t below, const SeenMembers& seen, size_t item, bool add);
  bool MayEnd(const Members& members, const SeenMembers& seen) const;
  bool CanEnd(const Members& members, const SeenMembers& seen, uint32_t below) const;
  void PushAndAdd(uint32_t below, uint32_t site, uint32_t data, RuleId rule);
  ConfigId Intern();

  // mask.cc
  bool Walk(const TokenTrie& trie, ConfigId config, bool plain, std::span<uint32_t> bits);
  uint8_t PlainRun(ConfigId config);
  ConfigId PlainNext(ConfigId config);
  ConfigId ComputePlainNext(ConfigId config);
  ConfigId Through(ConfigId config, uint8_t first, uint8_t last);

  const Automaton& automaton_;
  const Vocabulary* vocabulary_;
  const size_t n_classes_;
  Frames frames_;
  std::vector<Config> configs_;
  std::vector<Thread> threads_;  // of all configurations
  std::vector<ConfigId> table_;  // [n_configs][n_classes]
  std::vector<uint32_t> slots_;  // hash table of configurations; 0: free
  std::vector<std::vector<uint32_t>> masks_;

  // Scratch of Close.
  std::vector<Thread> work_, found_;
  std::vector<Thread> seen_;  // hash table; of the present closure where stamps_ says so
  std::vector<uint32_t> stamps_;
  uint32_t stamp_ = 0;
  size_t n_seen_ = 0;
  bool complete_ = false, too_large_ = false;
  std::vector<ConfigId> path_;  // of Walk
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_WALKER_H_

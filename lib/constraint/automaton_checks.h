// What is worked out about a finished automaton: which rules may be empty, that none calls itself
// before it has read a byte, and from which nodes a rule's end can be reached at all, and with how
// many frames. The last is what keeps generation from being led into a dead end.
#ifndef KRAFLA_LIB_CONSTRAINT_AUTOMATON_CHECKS_H_
#define KRAFLA_LIB_CONSTRAINT_AUTOMATON_CHECKS_H_

#include <vector>

#include "lib/constraint/automaton.h"

namespace krafla {

class AutomatonChecks {
 public:
  AutomatonChecks(const Grammar& grammar, Automaton* automaton)
      : grammar_(grammar), automaton_(*automaton) {}
  Status Run();

 private:
  void LinkBackwards();
  void FindEmptyRules();
  bool MayBeEmpty(const CallSite& site) const;
  Status CheckCounted() const;
  Status CheckLeftRecursion() const;
  std::vector<RuleId> CalledFirst(RuleId rule, std::vector<uint32_t>* seen) const;
  void FindNeeds();
  void FindLastCalls();
  void SkipNames();
  RuleId OtherNameOf(RuleId rule) const;
  uint16_t NeedOfFrame(RuleId rule) const;
  uint16_t NeedOf(const CallSite& site) const;
  uint16_t NeedOf(const Members& members) const;
  std::string NameOf(RuleId rule) const;

  const Grammar& grammar_;
  Automaton& automaton_;
  // Of each node: the nodes with an edge to it, and with an empty one.
  std::vector<uint32_t> before_begin_, before_, empty_before_begin_, empty_before_;
  std::vector<std::vector<uint32_t>> sites_of_rule_;
  std::vector<uint32_t> caller_of_site_, site_behind_, rule_of_start_;
  std::vector<uint8_t> may_be_empty_;  // by node: the rule's end is reached without a byte
};

}  // namespace krafla

#endif  // KRAFLA_LIB_CONSTRAINT_AUTOMATON_CHECKS_H_

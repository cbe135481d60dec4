// What a render says in all, whoever wrote which part of it: for tests that compare whole texts.
// The tests of trust look at the runs themselves.
#ifndef KRAFLA_TESTS_CHAT_JOIN_RUNS_H_
#define KRAFLA_TESTS_CHAT_JOIN_RUNS_H_

#include <span>
#include <string>

#include "lib/chat/template.h"

namespace krafla {

inline std::string JoinRuns(std::span<const TextRun> runs) {
  std::string out;
  for (const TextRun& run : runs) out += run.text;
  return out;
}

}  // namespace krafla

#endif  // KRAFLA_TESTS_CHAT_JOIN_RUNS_H_

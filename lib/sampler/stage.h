// What a stage of the sampler is. A stage lives in a .cc of its own whose class is hidden; its row
// in stages.cc gives its name, its parameters with bounds and its factory. Parameter values live in
// the sampler, checked against the row, and so does all that a stage remembers (StageState), so a
// stage keeps nothing but scratch memory between calls.
#ifndef KRAFLA_LIB_SAMPLER_STAGE_H_
#define KRAFLA_LIB_SAMPLER_STAGE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "lib/base/status.h"
#include "lib/sampler/candidates.h"
#include "lib/sampler/random.h"

namespace krafla {

// The ABI's own.
using TokenBias = krafla_bias;
using CustomStage = krafla_custom_stage;

// What stages remember from token to token. Trivially copied: a sampler's mark has one.
struct StageState {
  double mirostat_mu = -std::numeric_limits<double>::infinity();  // -inf: nothing drawn yet
};

struct StageInput {
  std::span<const double> params;    // in the order of the stage's row
  std::span<const int32_t> history;  // every accepted token, oldest first
  // Of dry: for each token of the history, whether a sequence breaker ends in it, and for each of
  // the vocabulary, whether it holds one. Empty where there are no breakers.
  std::span<const uint8_t> breaks;
  std::span<const uint8_t> breaking;
  std::span<const TokenBias> biases;  // of logit_bias: ascending ids
  const CustomStage* custom;          // of custom
  Random* random;
  StageState* state;
};

// The last n tokens of a history; -1: all of them, as for an n that is larger.
inline std::span<const int32_t> LastOf(std::span<const int32_t> history, double n) {
  const bool fewer = n >= 0 && n < static_cast<double>(history.size());
  return fewer ? history.last(static_cast<size_t>(n)) : history;
}

class Stage {
 public:
  virtual ~Stage() = default;

  // Changes values or drops candidates, never all of them: what would is an error, as is what a
  // host's function does wrong.
  virtual Status Apply(const StageInput& in, Candidates* candidates) = 0;
  // Makes room for a history of n tokens, so that Apply allocates nothing for its length.
  virtual void ReserveHistory(size_t /*n*/) {}
  // Told the probability of the candidate that was drawn in the end.
  virtual void Drawn(const StageInput&, double /*probability*/) {}
};

struct StageParam {
  std::string_view name;
  double min;
  double max;
  double initial;
  bool is_integer = false;
  bool min_excluded = false;
};

inline constexpr size_t kMaxStageParams = 4;

struct StageInfo {
  std::string_view name;
  std::span<const StageParam> params;  // at most kMaxStageParams
  std::unique_ptr<Stage> (*create)();
  std::string_view summary;      // one line for lists
  bool in_default_chain = true;  // at the place that its row has
  bool draws = false;            // a chain without such a stage is greedy
};

// Every stage there is, in the order of the default chain.
std::span<const StageInfo> AllStages();

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_STAGE_H_

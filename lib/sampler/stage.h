// What a stage of the sampler is. A stage lives in a .cc of its own whose class is hidden; its row
// in stages.cc gives its name, its parameters with bounds and its factory. Parameter values live in
// the sampler, checked against the row, so a stage keeps nothing but scratch memory between calls.
#ifndef KRAFLA_LIB_SAMPLER_STAGE_H_
#define KRAFLA_LIB_SAMPLER_STAGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "lib/sampler/candidates.h"

namespace krafla {

class Stage {
 public:
  virtual ~Stage() = default;

  // Changes values or drops candidates, never all of them. `params` are in the order of the stage's
  // row; `history` is every accepted token, oldest first.
  virtual void Apply(std::span<const double> params, std::span<const int32_t> history,
                     Candidates* candidates) = 0;
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
};

// Every stage there is, in the order of the default chain.
std::span<const StageInfo> AllStages();

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_STAGE_H_

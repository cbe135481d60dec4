// The table of stages, in the order of the default chain: penalties see every token, truncation
// sees the model's own distribution, and temperature comes last, so that it only reshapes what
// truncation kept and a high one lets no unlikely token in. Initial values leave a stage without
// effect, except that temperature starts at 0 (greedy). A new stage is a factory and a row here.
#include <algorithm>
#include <iterator>
#include <limits>

#include "lib/sampler/stage.h"

namespace krafla {

std::unique_ptr<Stage> CreatePenalties();
std::unique_ptr<Stage> CreateTopK();
std::unique_ptr<Stage> CreateTopP();
std::unique_ptr<Stage> CreateMinP();
std::unique_ptr<Stage> CreateTemperature();

namespace {

constexpr double kMaxInt = std::numeric_limits<int32_t>::max();

constexpr StageParam kPenalties[] = {
    {.name = "repeat", .min = 0, .max = 5, .initial = 1, .min_excluded = true},
    {.name = "frequency", .min = -2, .max = 2, .initial = 0},
    {.name = "presence", .min = -2, .max = 2, .initial = 0},
    {.name = "last_n", .min = -1, .max = kMaxInt, .initial = 64, .is_integer = true},
};
constexpr StageParam kTopK[] = {
    {.name = "k", .min = -1, .max = kMaxInt, .initial = 0, .is_integer = true},
};
constexpr StageParam kTopP[] = {
    {.name = "p", .min = 0, .max = 1, .initial = 1, .min_excluded = true},
};
constexpr StageParam kMinP[] = {
    {.name = "p", .min = 0, .max = 1, .initial = 0},
};
constexpr StageParam kTemperature[] = {
    {.name = "t", .min = 0, .max = 1e6, .initial = 0},
};

constexpr StageInfo kStages[] = {
    {"penalties", kPenalties, CreatePenalties},
    {"top_k", kTopK, CreateTopK},
    {"top_p", kTopP, CreateTopP},
    {"min_p", kMinP, CreateMinP},
    {"temperature", kTemperature, CreateTemperature},
};
static_assert(std::all_of(std::begin(kStages), std::end(kStages), [](const StageInfo& stage) {
  return stage.params.size() <= kMaxStageParams;
}));

}  // namespace

std::span<const StageInfo> AllStages() { return kStages; }

}  // namespace krafla

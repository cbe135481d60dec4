// The table of stages, in the order of the default chain: what the host forbids or favours comes
// first, penalties see every token, truncation sees the model's own distribution, and temperature
// comes last, so that it only reshapes what truncation kept and a high one lets no unlikely token
// in. Initial values leave a stage of the default chain without effect, except that temperature
// starts at 0 (greedy). A new stage is a factory and a row here.
#include <algorithm>
#include <iterator>
#include <limits>

#include "lib/sampler/stage.h"

namespace krafla {

std::unique_ptr<Stage> CreateLogitBias();
std::unique_ptr<Stage> CreateCustom();
std::unique_ptr<Stage> CreatePenalties();
std::unique_ptr<Stage> CreateDry();
std::unique_ptr<Stage> CreateTopNSigma();
std::unique_ptr<Stage> CreateTopK();
std::unique_ptr<Stage> CreateTypical();
std::unique_ptr<Stage> CreateTopP();
std::unique_ptr<Stage> CreateMinP();
std::unique_ptr<Stage> CreateXtc();
std::unique_ptr<Stage> CreateTemperature();
std::unique_ptr<Stage> CreateMirostat();

namespace {

constexpr double kMaxInt = std::numeric_limits<int32_t>::max();

constexpr StageParam kPenalties[] = {
    {.name = "repeat", .min = 0, .max = 5, .initial = 1, .min_excluded = true},
    {.name = "frequency", .min = -2, .max = 2, .initial = 0},
    {.name = "presence", .min = -2, .max = 2, .initial = 0},
    {.name = "last_n", .min = -1, .max = kMaxInt, .initial = 64, .is_integer = true},
};
constexpr StageParam kDry[] = {
    {.name = "multiplier", .min = 0, .max = 100, .initial = 0},
    {.name = "base", .min = 1, .max = 10, .initial = 1.75},
    {.name = "allowed_length", .min = 1, .max = kMaxInt, .initial = 2, .is_integer = true},
    {.name = "last_n", .min = -1, .max = kMaxInt, .initial = -1, .is_integer = true},
};
constexpr StageParam kTopNSigma[] = {
    {.name = "n", .min = 0, .max = 100, .initial = 0},
};
constexpr StageParam kTopK[] = {
    {.name = "k", .min = -1, .max = kMaxInt, .initial = 0, .is_integer = true},
};
constexpr StageParam kTypical[] = {
    {.name = "p", .min = 0, .max = 1, .initial = 1, .min_excluded = true},
};
constexpr StageParam kTopP[] = {
    {.name = "p", .min = 0, .max = 1, .initial = 1, .min_excluded = true},
};
constexpr StageParam kMinP[] = {
    {.name = "p", .min = 0, .max = 1, .initial = 0},
};
constexpr StageParam kXtc[] = {
    {.name = "probability", .min = 0, .max = 1, .initial = 0},
    {.name = "threshold", .min = 0, .max = 1, .initial = 0.1},
};
constexpr StageParam kTemperature[] = {
    {.name = "t", .min = 0, .max = 1e6, .initial = 0},
    {.name = "range", .min = 0, .max = 1e6, .initial = 0},
    {.name = "exponent", .min = 0, .max = 100, .initial = 1},
};
constexpr StageParam kMirostat[] = {
    {.name = "tau", .min = 0, .max = 100, .initial = 5, .min_excluded = true},
    {.name = "eta", .min = 0, .max = 1, .initial = 0.1},
};

constexpr StageInfo kStages[] = {
    {"logit_bias", {}, CreateLogitBias, "adds to the logits of given tokens, or bans them"},
    {"custom", {}, CreateCustom, "the host's own function"},
    {"penalties", kPenalties, CreatePenalties, "tokens of the last ones become less likely"},
    {"dry", kDry, CreateDry, "tokens that would continue a repeated sequence become less likely"},
    {"top_n_sigma", kTopNSigma, CreateTopNSigma, "keeps logits within n deviations of the best"},
    {"top_k", kTopK, CreateTopK, "keeps the k most likely tokens"},
    {"typical", kTypical, CreateTypical, "keeps the most typical tokens that sum to p"},
    {"top_p", kTopP, CreateTopP, "keeps the most likely tokens that sum to p"},
    {"min_p", kMinP, CreateMinP, "keeps tokens at least p times as likely as the most likely"},
    {"xtc", kXtc, CreateXtc, "at times drops all likely tokens but the least likely of them"},
    {.name = "temperature",
     .params = kTemperature,
     .create = CreateTemperature,
     .summary = "divides logits by t, or by t -+ range as the entropy is low or high",
     .draws = true},
    {.name = "mirostat",
     .params = kMirostat,
     .create = CreateMirostat,
     .summary = "truncates so that the surprise of a token stays near tau bits",
     .in_default_chain = false,
     .draws = true},
};
static_assert(std::all_of(std::begin(kStages), std::end(kStages), [](const StageInfo& stage) {
  return stage.params.size() <= kMaxStageParams;
}));

}  // namespace

std::span<const StageInfo> AllStages() { return kStages; }

}  // namespace krafla

// The sampler: from the logits of one position to a token id, through a chain of stages that are
// named by string (stages.cc lists them). Equal seed, chain, history and logits give the same id on
// every machine: arithmetic is double without libm, ties go to the lower id, random numbers are
// counted.
//
// An empty chain is greedy, and so is every chain without a temperature stage or with temperature
// 0. The default chain is penalties, top_k, top_p, min_p, temperature, in this order (stages.cc
// says why). A constraint sets forbidden logits to -inf before Sample, hence before any truncation.
//
// One thread at a time. Float mode as lib/base/float_mode.h.
#ifndef KRAFLA_LIB_SAMPLER_SAMPLER_H_
#define KRAFLA_LIB_SAMPLER_SAMPLER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/status.h"
#include "lib/sampler/candidates.h"
#include "lib/sampler/stage.h"

namespace krafla {

struct SamplerParam {
  std::string_view name;
  double value;
};

class Sampler {
 public:
  // Without a seed one is drawn from the system; seed() tells it.
  static StatusOr<std::unique_ptr<Sampler>> Create(std::optional<uint64_t> seed);

  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Appends a stage; parameters not given take their initial values. A stage can be in a chain
  // once.
  Status AddStage(std::string_view name, std::span<const SamplerParam> params = {});
  // Makes an empty chain the default chain, each stage with its initial values.
  Status AddDefaultStages();
  Status SetParam(std::string_view stage, std::string_view param, double value);
  StatusOr<double> Param(std::string_view stage, std::string_view param) const;

  // Picks an id. Logits may be -inf, not all; NaN and +inf are errors. The history stays as it is,
  // and so does everything else on failure. One random number is used up if the chain leaves a
  // choice.
  StatusOr<int32_t> Sample(std::span<const float> logits);

  // Appends a token to the history, which the penalties look at: each sampled token, and those of
  // the prompt where they shall count.
  Status Accept(int32_t id);
  // Makes room, so that the next n Accepts of valid ids cannot fail and allocate nothing.
  void ReserveForAccept(size_t n = 1);

  // History and random numbers back to the start; seed and chain stay.
  void Reset();

  uint64_t seed() const { return seed_; }

  // An independent sampler in the same state.
  std::unique_ptr<Sampler> Clone() const;

 private:
  struct Link {
    explicit Link(const StageInfo& stage_info);

    const StageInfo* info;
    std::array<double, kMaxStageParams> params{};
    std::unique_ptr<Stage> stage;
  };

  explicit Sampler(uint64_t seed) : seed_(seed) {}
  const Link* FindLink(std::string_view stage) const;
  // Where a parameter is: the index of its stage in the chain, and its own in the stage.
  StatusOr<std::pair<size_t, size_t>> FindSlot(std::string_view stage,
                                               std::string_view param) const;
  int32_t Draw(std::span<const Candidate> items);

  uint64_t seed_;
  uint64_t n_draws_ = 0;
  std::vector<Link> chain_;
  std::vector<int32_t> history_;
  // Scratch of Sample, kept for its memory.
  Candidates candidates_;
  std::vector<double> weights_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_SAMPLER_H_

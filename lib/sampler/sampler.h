// The sampler: from the logits of one position to a token id, through a chain of stages that are
// named by string (stages.cc lists them). Equal seed, chain, history and logits give the same id on
// every machine: arithmetic is double without libm, ties go to the lower id, random numbers are
// counted.
//
// An empty chain is greedy, and so is every chain without a stage that draws (temperature,
// mirostat) or with temperature 0. The default chain is logit_bias, custom, penalties, dry,
// top_n_sigma, top_k, typical, top_p, min_p, xtc, temperature, in this order (stages.cc says why).
// A constraint's mask of allowed tokens comes before all of them.
//
// The whole state is the accepted tokens and a few numbers: a Mark of it takes no memory, and going
// back to one (Rewind) is exact, for decoders that try tokens out.
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
#include "lib/sampler/breakers.h"
#include "lib/sampler/candidates.h"
#include "lib/sampler/random.h"
#include "lib/sampler/stage.h"

namespace krafla {

struct SamplerParam {
  std::string_view name;
  double value;
};

// A place in a sampler's history.
struct SamplerMark {
  Random random;
  size_t n_history = 0;
  StageState state;
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

  // Of the stages logit_bias, custom and dry; the first two go to the front of a chain that has
  // them not. Replaces what was set; nothing (no biases, no function, null) takes it away.
  // ArgumentError names a bias that is no number of [-1e6, 1e6] or -inf, or an id that comes twice.
  Status SetBiases(std::span<const TokenBias> biases);
  void SetCustom(const CustomStage& custom);
  bool has_custom() const { return custom_.apply != nullptr; }
  void SetBreakers(std::shared_ptr<const Breakers> breakers);

  // Picks an id. Logits may be -inf, not all; NaN and +inf are errors. The history stays as it is,
  // and so does everything else on failure. One random number is used up if the chain leaves a
  // choice, and one by xtc. With a mask (bit id % 32 of word id / 32) only its tokens are there;
  // ArgumentError where none of them has a finite logit.
  StatusOr<int32_t> Sample(std::span<const float> logits,
                           std::optional<std::span<const uint32_t>> mask = std::nullopt);
  // Sample where a mask of n_vocab ids leaves this one, whose logit is finite: the same errors,
  // random numbers and state, without the logits. Not with a custom stage, which would see the
  // logit.
  Status SampleOnly(int32_t id, size_t n_vocab);

  // Of the last Sample: the log-probability that its id had in the end, and the best of the
  // candidates that the chain had left, with theirs (as many as there are and fit; the number of
  // them); none after a Sample that failed.
  bool has_choice() const { return has_choice_; }
  float ChosenLogProb() const { return chosen_logprob_; }
  size_t TopOfChain(std::span<int32_t> ids, std::span<float> logprobs);

  // Appends a token to the history, which penalties and dry look at: each sampled token, and those
  // of the prompt where they shall count.
  Status Accept(int32_t id);
  // Makes room, so that the next n Accepts of valid ids cannot fail and allocate nothing.
  void ReserveForAccept(size_t n = 1);

  // History and random numbers back to the start; seed and chain stay.
  void Reset();

  // Rewind takes back every Sample and Accept since the mark was made; a mark holds until the
  // sampler is rewound to before it, or reset.
  SamplerMark Mark() const { return {random_, history_.size(), state_}; }
  void Rewind(const SamplerMark& mark);

  uint64_t seed() const { return random_.seed; }

  // An independent sampler in the same state.
  std::unique_ptr<Sampler> Clone() const;

 private:
  struct Link {
    explicit Link(const StageInfo& stage_info);

    const StageInfo* info;
    std::array<double, kMaxStageParams> params{};
    std::unique_ptr<Stage> stage;
  };

  explicit Sampler(uint64_t seed) : random_{seed} {}
  void PutInFront(std::string_view stage);
  StatusOr<int32_t> SampleListed();
  StageInput InputOf(const Link& link, Random* random, StageState* state) const;
  const Link* FindLink(std::string_view stage) const;
  // Where a parameter is: the index of its stage in the chain, and its own in the stage.
  StatusOr<std::pair<size_t, size_t>> FindSlot(std::string_view stage,
                                               std::string_view param) const;
  // The id, and its probability among the items.
  std::pair<int32_t, double> Draw(std::span<const Candidate> items, Random* random);

  Random random_;
  StageState state_;
  std::vector<Link> chain_;
  std::vector<int32_t> history_;
  std::vector<uint8_t> breaks_;  // a token of the history: see StageInput; empty without breakers
  std::vector<TokenBias> biases_;
  CustomStage custom_ = KRAFLA_CUSTOM_STAGE_INIT;
  std::shared_ptr<const Breakers> breakers_;
  // What the last Sample left.
  Candidates candidates_;
  bool has_choice_ = false;
  float chosen_logprob_ = 0;
  // Scratch, kept for its memory.
  std::vector<double> weights_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SAMPLER_SAMPLER_H_

// Drafts by a smaller model. Its session follows the text; what was drafted and not taken is cut
// off when the next draft begins. It samples with a copy of the generation's sampler, so with the
// very random numbers that the generation will use: where both models see the same chances they
// draw the same token.
#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "lib/batch/speculator.h"
#include "lib/session/common_prefix.h"

namespace krafla {
namespace {

using Clock = std::chrono::steady_clock;

// How sure the draft model is of its token: that token's logit less the best other one's.
constexpr float kMargins[Payoff::kClasses - 1] = {0, 0.5F, 1, 1.5F, 2.5F, 4, 6};
constexpr Payoff::Chances kModelPrior = {0.2, 0.35, 0.45, 0.55, 0.7, 0.8, 0.9, 0.97};

constexpr double kFirstGain = 1.25;  // so that a few bad drafts are not the end
constexpr int64_t kRest = 128;       // tokens without drafts when they did not pay
constexpr int kTrials = 2;           // then there are no more: the draft model would read all along

uint8_t ClassOf(std::span<const float> logits, int32_t id) {
  const auto at = static_cast<size_t>(id);
  float other = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < logits.size(); ++i) {
    other = i != at && logits[i] > other ? logits[i] : other;
  }
  const float margin = logits[at] - other;
  return static_cast<uint8_t>(std::upper_bound(std::begin(kMargins), std::end(kMargins), margin) -
                              std::begin(kMargins));
}

class ModelSpeculator final : public Speculator {
 public:
  ModelSpeculator(DraftLength length, Session& draft, Session& target)
      : Speculator(length, kModelPrior),
        draft_(draft),
        target_(target),
        n_vocab_(target.model()->config().n_vocab) {}

  Status Begin(std::span<const int32_t> read, int32_t next, size_t most,
               const Sampler& sampler) override {
    Weigh();
    Stop();
    const auto length = static_cast<int64_t>(read.size());
    const int64_t room = std::max<int64_t>(draft_.context() - length - 1, 0);
    most_ = std::min({most, kMost, static_cast<size_t>(room)});
    if (length < rest_until_) most_ = 0;
    if (most_ == 0) return OkStatus();
    const int64_t kept = draft_.CutBack(static_cast<int64_t>(CommonPrefix(draft_.ids(), read)));
    more_.assign(read.begin() + kept, read.end());
    more_.push_back(next);
    if (sampler.has_custom()) {  // the host's function is not called for what is only guessed
      KRAFLA_ASSIGN_OR_RETURN(sampler_, Sampler::Create(sampler.seed()));
    } else {
      sampler_ = sampler.Clone();
    }
    reach_ = tokens_ = 1;
    length_ = length;
    return OkStatus();
  }

  void Abandon() override { Stop(); }

  StatusOr<bool> Step(int64_t max_us) override {
    while (n_draft_ < most_) {
      const Status begun = draft_.begun() ? OkStatus() : BeginToken();
      const auto start = Clock::now();
      const StatusOr<bool> done = begun.ok() ? draft_.Step(max_us) : begun;
      us_ += std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      if (!done.ok() && target_.TakeCancel()) return CancelledError("cancelled while drafting");
      if (!done.ok()) {  // plain decoding goes on whatever is wrong with the draft model's session
        Stop();
        return true;
      }
      if (!*done) return false;
      if (more_.size() <= 2) payoff_.Drafted(us_);
      us_ = 0;
      if (!Think()) break;
      if (max_us >= 0 && n_draft_ < most_) return false;
    }
    if (most_ > 0) spent_ = payoff_.token_cost() * static_cast<double>(n_draft_);
    if (!always()) n_draft_ = payoff_.Best({classes_.data(), n_draft_});
    most_ = 0;
    return true;
  }

 private:
  void Stop() {
    draft_.Abandon();
    Clear();
    most_ = 0;
    us_ = spent_ = 0;
  }

  Status BeginToken() {
    AppendOptions options;
    options.user = &target_;
    options.on_progress = [](void* user, int64_t, int64_t) {
      return static_cast<const Session*>(user)->cancelled() ? 1 : 0;
    };
    return draft_.Begin(more_, options);
  }

  // One more token; false: it is not worth going on.
  bool Think() {
    if (!sampler_->Accept(more_.back()).ok()) return false;
    const StatusOr<int32_t> id = sampler_->Sample(draft_.logits());
    if (!id.ok() || *id >= n_vocab_) return false;
    const uint8_t which = ClassOf(draft_.logits(), *id);
    const double each = payoff_.row_cost() + payoff_.token_cost();
    const double rate = tokens_ / (1 + each * static_cast<double>(n_draft_));
    ids_[n_draft_] = *id;
    classes_[n_draft_] = which;
    n_known_ = ++n_draft_;
    more_.assign(1, *id);
    reach_ *= payoff_.chance(which);
    tokens_ += reach_;
    return always() || reach_ > each * rate;
  }

  // What the last draft has brought for its cost, a plain token being 1 for 1.
  void Weigh() {
    if (spent_ == 0 || always()) return;
    const double tokens = 1 + static_cast<double>(std::min(n_right_, n_draft_));
    const double cost = 1 + spent_ + payoff_.row_cost() * static_cast<double>(n_draft_);
    gain_ += (tokens / cost - gain_) / 8;
    if (gain_ >= 1) return;
    gain_ = kFirstGain;
    rest_until_ = ++trials_ < kTrials ? length_ + kRest : std::numeric_limits<int64_t>::max();
  }

  Session& draft_;
  Session& target_;
  int64_t n_vocab_;
  std::unique_ptr<Sampler> sampler_;
  std::vector<int32_t> more_;  // what the draft model reads next
  size_t most_ = 0;            // tokens wanted; 0: there is nothing to do
  double reach_ = 1;           // chance that all drafted so far are right
  double tokens_ = 1;          // expected of the pass
  double us_ = 0;              // of the token in work
  double spent_ = 0;           // on the last draft, in passes of one row
  double gain_ = kFirstGain;
  int trials_ = 0;
  int64_t length_ = 0;      // of the text at the last draft
  int64_t rest_until_ = 0;  // that length
};

}  // namespace

std::unique_ptr<Speculator> CreateModelSpeculator(DraftLength length, Session& draft,
                                                  Session& target) {
  return std::make_unique<ModelSpeculator>(length, draft, target);
}

}  // namespace krafla

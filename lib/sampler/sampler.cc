// The chain, its parameters, and the draw at its end.
#include "lib/sampler/sampler.h"

#include <algorithm>
#include <limits>
#include <string>

#include "lib/base/math.h"
#include "lib/sampler/logprobs.h"

namespace krafla {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kMaxBias = 1e6;

// "a, b, c": what there is, for messages about what there is not.
template <typename Named>
std::string Names(std::span<const Named> things) {
  std::string names;
  for (const Named& thing : things) {
    if (!names.empty()) names += ", ";
    names += thing.name;
  }
  return names;
}

StatusOr<const StageInfo*> FindStage(std::string_view name) {
  for (const StageInfo& info : AllStages()) {
    if (info.name == name) return &info;
  }
  return NotFoundError("sampler: no stage '{}', there are {}", name, Names(AllStages()));
}

StatusOr<size_t> FindParam(const StageInfo& stage, std::string_view name) {
  for (size_t i = 0; i < stage.params.size(); ++i) {
    if (stage.params[i].name == name) return i;
  }
  return NotFoundError("sampler: stage {}: no parameter '{}', there are {}", stage.name, name,
                       Names(stage.params));
}

Status CheckValue(const StageInfo& stage, const StageParam& param, double value) {
  const bool above = param.min_excluded ? value > param.min : value >= param.min;
  if (above && value <= param.max) {  // neither holds for NaN
    if (!param.is_integer || static_cast<double>(static_cast<int64_t>(value)) == value) {
      return OkStatus();
    }
  }
  return ArgumentError("sampler: stage {}: {}: got {}, want {} in {}{}, {}]", stage.name,
                       param.name, value, param.is_integer ? "an integer" : "a number",
                       param.min_excluded ? '(' : '[', param.min, param.max);
}

// Checks every logit and gives the largest. Lanes, because one running maximum would wait for each
// comparison; the compiler makes vectors of them.
StatusOr<float> CheckedMax(std::span<const float> logits) {
  constexpr size_t kLanes = 16;
  if (logits.empty() || logits.size() > size_t{std::numeric_limits<int32_t>::max()}) {
    return ArgumentError("sampler: got {} logits, want 1 to 2147483647", logits.size());
  }
  float max[kLanes];
  int bad[kLanes] = {};
  std::fill_n(max, kLanes, -kInf);
  const size_t whole = logits.size() / kLanes * kLanes;
  const float* data = logits.data();
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float x = data[i + lane];
      bad[lane] |= !(x < kInf);  // NaN or +inf
      max[lane] = x > max[lane] ? x : max[lane];
    }
  }
  for (size_t i = whole; i < logits.size(); ++i) {
    bad[0] |= !(data[i] < kInf);
    max[0] = data[i] > max[0] ? data[i] : max[0];
  }
  if (std::any_of(bad, bad + kLanes, [](int b) { return b != 0; })) {
    const auto first =
        std::find_if(logits.begin(), logits.end(), [](float x) { return !(x < kInf); });
    return ArgumentError("sampler: logit of token {}: got {}, want a finite number or -inf",
                         first - logits.begin(), *first);
  }
  const float best = *std::max_element(max, max + kLanes);
  if (best == -kInf) {
    return ArgumentError("sampler: got -inf for each of {} logits, want at least one finite",
                         logits.size());
  }
  return best;
}

// The largest of the logits whose bit is set.
StatusOr<float> MaskedMax(std::span<const float> logits, std::span<const uint32_t> mask) {
  float best = -kInf;
  ForEachBit(mask, logits.size(), [&](size_t id) { best = std::max(best, logits[id]); });
  if (best > -kInf) return best;
  return ArgumentError("sampler: none of {} tokens is both allowed and possible", logits.size());
}

}  // namespace

StatusOr<std::unique_ptr<Sampler>> Sampler::Create(std::optional<uint64_t> seed) {
  if (!seed) {
    KRAFLA_ASSIGN_OR_RETURN(seed, SystemSeed());
  }
  return std::unique_ptr<Sampler>(new Sampler(*seed));
}

Sampler::Link::Link(const StageInfo& stage_info) : info(&stage_info), stage(stage_info.create()) {
  for (size_t i = 0; i < info->params.size(); ++i) params[i] = info->params[i].initial;
}

const Sampler::Link* Sampler::FindLink(std::string_view stage) const {
  for (const Link& link : chain_) {
    if (link.info->name == stage) return &link;
  }
  return nullptr;
}

StatusOr<std::pair<size_t, size_t>> Sampler::FindSlot(std::string_view stage,
                                                      std::string_view param) const {
  KRAFLA_ASSIGN_OR_RETURN(const StageInfo* info, FindStage(stage));
  KRAFLA_ASSIGN_OR_RETURN(const size_t i, FindParam(*info, param));
  const Link* link = FindLink(stage);
  if (link == nullptr) return NotFoundError("sampler: stage {} is not in the chain", stage);
  return std::pair{static_cast<size_t>(link - chain_.data()), i};
}

Status Sampler::AddStage(std::string_view name, std::span<const SamplerParam> params) {
  KRAFLA_ASSIGN_OR_RETURN(const StageInfo* info, FindStage(name));
  if (FindLink(name) != nullptr) {
    return ArgumentError("sampler: stage {} is in the chain already, want each once", name);
  }
  Link link(*info);
  for (const SamplerParam& param : params) {
    KRAFLA_ASSIGN_OR_RETURN(const size_t i, FindParam(*info, param.name));
    KRAFLA_RETURN_IF_ERROR(CheckValue(*info, info->params[i], param.value));
    link.params[i] = param.value;
  }
  chain_.push_back(std::move(link));
  return OkStatus();
}

Status Sampler::AddDefaultStages() {
  if (!chain_.empty()) {
    return StateError("sampler: the chain has {} stages, want none before the default ones",
                      chain_.size());
  }
  std::vector<Link> chain;
  for (const StageInfo& info : AllStages()) {
    if (info.in_default_chain) chain.emplace_back(info);
  }
  chain_ = std::move(chain);
  return OkStatus();
}

Status Sampler::SetParam(std::string_view stage, std::string_view param, double value) {
  KRAFLA_ASSIGN_OR_RETURN(const auto slot, FindSlot(stage, param));
  Link& link = chain_[slot.first];
  KRAFLA_RETURN_IF_ERROR(CheckValue(*link.info, link.info->params[slot.second], value));
  link.params[slot.second] = value;
  return OkStatus();
}

StatusOr<double> Sampler::Param(std::string_view stage, std::string_view param) const {
  KRAFLA_ASSIGN_OR_RETURN(const auto slot, FindSlot(stage, param));
  return chain_[slot.first].params[slot.second];
}

void Sampler::PutInFront(std::string_view stage) {
  if (FindLink(stage) != nullptr) return;
  const auto& all = AllStages();
  const auto info =
      std::find_if(all.begin(), all.end(), [stage](const StageInfo& i) { return i.name == stage; });
  chain_.insert(chain_.begin(), Link(*info));
}

Status Sampler::SetBiases(std::span<const TokenBias> biases) {
  std::vector<TokenBias> sorted(biases.begin(), biases.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const TokenBias& a, const TokenBias& b) { return a.id < b.id; });
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int32_t id = sorted[i].id;
    const double bias = sorted[i].bias;
    if (id < 0) return ArgumentError("sampler: stage logit_bias: got token {}, want 0 or more", id);
    if (i > 0 && sorted[i - 1].id == id) {
      return ArgumentError("sampler: stage logit_bias: token {}: got it twice", id);
    }
    if (bias != -kInf && !(bias >= -kMaxBias && bias <= kMaxBias)) {
      return ArgumentError(
          "sampler: stage logit_bias: token {}: got {}, want a number in [-{}, {}] or -inf", id,
          bias, kMaxBias, kMaxBias);
    }
  }
  PutInFront("logit_bias");
  biases_ = std::move(sorted);
  return OkStatus();
}

void Sampler::SetCustom(const CustomStage& custom) {
  PutInFront("custom");
  custom_ = custom;
}

void Sampler::SetBreakers(std::shared_ptr<const Breakers> breakers) {
  std::vector<uint8_t> breaks;
  if (breakers != nullptr) {
    breaks.reserve(history_.capacity());
    for (size_t n = 1; n <= history_.size(); ++n) {
      breaks.push_back(breakers->EndsIn(std::span(history_).first(n)) ? 1 : 0);
    }
  }
  breaks_ = std::move(breaks);
  breakers_ = std::move(breakers);
}

StageInput Sampler::InputOf(const Link& link, Random* random, StageState* state) const {
  return {.params = link.params,
          .history = history_,
          .breaks = breaks_,
          .breaking = breakers_ == nullptr ? std::span<const uint8_t>() : breakers_->breaking(),
          .biases = biases_,
          .custom = &custom_,
          .random = random,
          .state = state};
}

StatusOr<int32_t> Sampler::Sample(std::span<const float> logits,
                                  std::optional<std::span<const uint32_t>> mask) {
  KRAFLA_ASSIGN_OR_RETURN(float max, CheckedMax(logits));
  if (mask) {
    KRAFLA_ASSIGN_OR_RETURN(max, MaskedMax(logits, *mask));
  }
  has_choice_ = false;
  weights_.reserve(logits.size());
  candidates_.Reset(logits, max);
  if (mask) candidates_.KeepMasked(*mask);
  return SampleListed();
}

Status Sampler::SampleOnly(int32_t id, size_t n_vocab) {
  if (id < 0 || static_cast<size_t>(id) >= n_vocab || has_custom()) {
    return ArgumentError("sampler: only token {} of {}: not possible", id, n_vocab);
  }
  has_choice_ = false;
  weights_.reserve(1);
  candidates_.ResetTo(id, n_vocab);
  return SampleListed().status();
}

// From the candidates that there are.
StatusOr<int32_t> Sampler::SampleListed() {
  // Kept only where nothing fails.
  Random random = random_;
  StageState state = state_;
  bool draws = false;
  for (Link& link : chain_) {
    draws |= link.info->draws;
    KRAFLA_RETURN_IF_ERROR(link.stage->Apply(InputOf(link, &random, &state), &candidates_));
  }
  if (!draws) candidates_.KeepBest(1);
  const std::span<const Candidate> items = candidates_.items();
  const auto [id, probability] =
      items.size() == 1 ? std::pair{items[0].id, 1.0} : Draw(items, &random);
  for (Link& link : chain_) link.stage->Drawn(InputOf(link, &random, &state), probability);
  chosen_logprob_ = static_cast<float>(Log(probability));
  has_choice_ = true;
  random_ = random;
  state_ = state;
  return id;
}

std::pair<int32_t, double> Sampler::Draw(std::span<const Candidate> items, Random* random) {
  const double max = candidates_.Max();
  weights_.resize(items.size());
  double total = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    weights_[i] = Exp(items[i].value - max);
    total += weights_[i];
  }
  const double target = random->Next() * total;
  // `target` may round up to `total`; then the last token that has a weight is the one.
  double sum = 0;
  size_t chosen = 0;
  for (size_t i = 0; i < items.size() && sum <= target; ++i) {
    sum += weights_[i];
    if (weights_[i] > 0) chosen = i;
  }
  return {items[chosen].id, weights_[chosen] / total};
}

size_t Sampler::TopOfChain(std::span<int32_t> ids, std::span<float> logprobs) {
  if (!has_choice_) return 0;
  const std::span<const Candidate> items = candidates_.items();
  const double max = candidates_.Max();
  double total = 0;
  for (const Candidate& c : items) total += Exp(c.value - max);
  const double log_total = Log(total);
  TopList top(ids, logprobs);
  for (const Candidate& c : items) {
    top.Show(c.id, static_cast<float>(c.value - max - log_total));
  }
  return top.size();
}

Status Sampler::Accept(int32_t id) {
  if (id < 0) return ArgumentError("sampler: accepted token: got {}, want an id of 0 or more", id);
  ReserveForAccept();
  history_.push_back(id);
  if (breakers_ != nullptr) breaks_.push_back(breakers_->EndsIn(history_) ? 1 : 0);
  return OkStatus();
}

void Sampler::ReserveForAccept(size_t n) {
  const size_t room = std::max(n, history_.size() + 256);
  if (history_.capacity() - history_.size() < n) history_.reserve(history_.size() + room);
  if (breakers_ != nullptr && breaks_.capacity() - breaks_.size() < n) {
    breaks_.reserve(breaks_.size() + room);
  }
  for (const Link& link : chain_) link.stage->ReserveHistory(history_.capacity());
}

void Sampler::Reset() {
  history_.clear();
  breaks_.clear();
  random_.n = 0;
  state_ = StageState();
}

void Sampler::Rewind(const SamplerMark& mark) {
  random_ = mark.random;
  state_ = mark.state;
  history_.resize(std::min(mark.n_history, history_.size()));
  breaks_.resize(std::min(mark.n_history, breaks_.size()));
}

std::unique_ptr<Sampler> Sampler::Clone() const {
  std::unique_ptr<Sampler> clone(new Sampler(random_.seed));
  clone->random_ = random_;
  clone->state_ = state_;
  clone->history_ = history_;
  clone->breaks_ = breaks_;
  clone->biases_ = biases_;
  clone->custom_ = custom_;
  clone->breakers_ = breakers_;
  for (const Link& link : chain_) {
    clone->chain_.emplace_back(*link.info).params = link.params;
  }
  return clone;
}

}  // namespace krafla

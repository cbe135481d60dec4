// The chain, its parameters, and the draw at its end.
#include "lib/sampler/sampler.h"

#include <algorithm>
#include <limits>
#include <string>

#include "lib/base/math.h"
#include "lib/sampler/random.h"

namespace krafla {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

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
  for (const StageInfo& info : AllStages()) chain.emplace_back(info);
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

StatusOr<int32_t> Sampler::Sample(std::span<const float> logits) {
  KRAFLA_ASSIGN_OR_RETURN(const float max, CheckedMax(logits));
  weights_.reserve(logits.size());
  candidates_.Reset(logits, max);
  for (Link& link : chain_) link.stage->Apply(link.params, history_, &candidates_);
  if (FindLink("temperature") == nullptr) candidates_.KeepBest(1);
  const std::span<const Candidate> items = candidates_.items();
  return items.size() == 1 ? items[0].id : Draw(items);
}

int32_t Sampler::Draw(std::span<const Candidate> items) {
  const double max = candidates_.Max();
  weights_.resize(items.size());
  double total = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    weights_[i] = Exp(items[i].value - max);
    total += weights_[i];
  }
  const double target = UniformRandom(seed_, n_draws_++) * total;
  // `target` may round up to `total`; then the last token that has a weight is the one.
  double sum = 0;
  int32_t id = items[0].id;
  for (size_t i = 0; i < items.size() && sum <= target; ++i) {
    sum += weights_[i];
    if (weights_[i] > 0) id = items[i].id;
  }
  return id;
}

Status Sampler::Accept(int32_t id) {
  if (id < 0) return ArgumentError("sampler: accepted token: got {}, want an id of 0 or more", id);
  history_.push_back(id);
  return OkStatus();
}

void Sampler::ReserveForAccept(size_t n) {
  if (history_.capacity() - history_.size() >= n) return;
  history_.reserve(history_.size() + std::max(n, history_.size() + 256));
}

void Sampler::Reset() {
  history_.clear();
  n_draws_ = 0;
}

std::unique_ptr<Sampler> Sampler::Clone() const {
  std::unique_ptr<Sampler> clone(new Sampler(seed_));
  clone->n_draws_ = n_draws_;
  clone->history_ = history_;
  for (const Link& link : chain_) {
    clone->chain_.emplace_back(*link.info).params = link.params;
  }
  return clone;
}

}  // namespace krafla

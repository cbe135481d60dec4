// krafla::Sampler. Part of krafla.hpp; C++17.
#ifndef KRAFLA_SAMPLER_HPP_
#define KRAFLA_SAMPLER_HPP_

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "krafla/model.hpp"

namespace krafla {

// Greedy until stages are added: sampler.Add("temperature", {{"t", 0.8}}), or
// sampler.AddDefault().Set("temperature", "t", 0.8).
class Sampler {
 public:
  Sampler() : Sampler(krafla_sampler_options KRAFLA_SAMPLER_OPTIONS_INIT) {}
  explicit Sampler(std::uint64_t seed) : Sampler(WithSeed(seed)) {}

  Sampler& Add(std::string_view stage, std::initializer_list<krafla_param> params = {}) {
    Check(krafla_sampler_add(handle_.get(), stage.data(), stage.size(), params.begin(),
                             params.size()));
    return *this;
  }
  Sampler& AddDefault() {
    Check(krafla_sampler_add_default(handle_.get()));
    return *this;
  }
  Sampler& Set(const char* stage, const char* name, double value) {
    Check(krafla_sampler_set(handle_.get(), stage, name, value));
    return *this;
  }
  Sampler& SetBias(const std::vector<krafla_bias>& biases) {
    Check(krafla_sampler_set_bias(handle_.get(), biases.data(), biases.size()));
    return *this;
  }
  // For dry. The tokenizer may go before the sampler.
  Sampler& SetBreakers(const krafla_tokenizer* tokenizer,
                       const std::vector<std::string_view>& breakers) {
    std::vector<krafla_string> raw;
    for (const std::string_view text : breakers) raw.push_back({text.data(), text.size()});
    Check(krafla_sampler_set_breakers(handle_.get(), tokenizer, raw.data(), raw.size()));
    return *this;
  }
  // f(std::vector<krafla_candidate>& candidates, const int32_t* ids, size_t n_ids) may change
  // values and erase candidates, not all. What it throws ends the call that samples with
  // KRAFLA_E_CALLBACK. Lives with this object: samplers that are cloned of it must not outlive it.
  Sampler& SetCustom(
      std::function<void(std::vector<krafla_candidate>&, const std::int32_t*, std::size_t)> f) {
    auto custom = std::make_unique<Custom>();
    custom->function = std::move(f);
    krafla_custom_stage stage = KRAFLA_CUSTOM_STAGE_INIT;
    stage.apply = Custom::Apply;
    stage.user = custom.get();
    Check(krafla_sampler_set_custom(handle_.get(), &stage));
    custom_ = std::move(custom);
    return *this;
  }
  std::int32_t Sample(const float* logits, std::size_t n) {
    std::int32_t id = 0;
    Check(krafla_sampler_sample(handle_.get(), logits, n, &id));
    return id;
  }
  // Of the last Sample: the candidates that the chain had left, best first, with their
  // log-probabilities.
  std::vector<std::pair<std::int32_t, float>> Top(std::size_t k) {
    std::vector<std::int32_t> ids(k);
    std::vector<float> logprobs(k);
    std::size_t n = 0;
    Check(krafla_sampler_get_chosen(handle_.get(), nullptr, k, ids.data(), logprobs.data(), &n));
    std::vector<std::pair<std::int32_t, float>> top;
    for (std::size_t i = 0; i < n; ++i) top.emplace_back(ids[i], logprobs[i]);
    return top;
  }
  void Accept(std::int32_t id) { Check(krafla_sampler_accept(handle_.get(), id)); }
  void Reset() { Check(krafla_sampler_reset(handle_.get())); }
  std::uint64_t seed() const {
    std::uint64_t seed = 0;
    Check(krafla_sampler_get_seed(handle_.get(), &seed));
    return seed;
  }
  krafla_sampler* get() const noexcept { return handle_.get(); }

 private:
  explicit Sampler(const krafla_sampler_options& options) {
    krafla_sampler* handle = nullptr;
    Check(krafla_sampler_create(&handle, &options));
    handle_.reset(handle);
  }
  static krafla_sampler_options WithSeed(std::uint64_t seed) {
    krafla_sampler_options options = KRAFLA_SAMPLER_OPTIONS_INIT;
    options.seed = seed;
    options.has_seed = 1;
    return options;
  }
  struct Custom {
    std::function<void(std::vector<krafla_candidate>&, const std::int32_t*, std::size_t)> function;
    std::vector<krafla_candidate> items;

    static int Apply(void* user, krafla_candidate* candidates, std::size_t* n,
                     const std::int32_t* ids, std::size_t n_ids) {
      auto& custom = *static_cast<Custom*>(user);
      try {
        custom.items.assign(candidates, candidates + *n);
        custom.function(custom.items, ids, n_ids);
      } catch (...) {
        return 1;
      }
      if (custom.items.size() > *n) return 1;
      std::copy(custom.items.begin(), custom.items.end(), candidates);
      *n = custom.items.size();
      return 0;
    }
  };

  internal::Handle<krafla_sampler> handle_;
  std::unique_ptr<Custom> custom_;
};

}  // namespace krafla

#endif  // KRAFLA_SAMPLER_HPP_

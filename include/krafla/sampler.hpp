// krafla::Sampler. Part of krafla.hpp; C++17.
#ifndef KRAFLA_SAMPLER_HPP_
#define KRAFLA_SAMPLER_HPP_

#include <initializer_list>
#include <string_view>

#include "krafla/model.hpp"

namespace krafla {

// Greedy until stages are added: sampler.Add("temperature", {{"t", 0.8}}).
class Sampler {
 public:
  Sampler() : Sampler(krafla_sampler_options KRAFLA_SAMPLER_OPTIONS_INIT) {}
  explicit Sampler(std::uint64_t seed) : Sampler(WithSeed(seed)) {}

  Sampler& Add(std::string_view stage, std::initializer_list<krafla_param> params = {}) {
    Check(krafla_sampler_add(handle_.get(), stage.data(), stage.size(), params.begin(),
                             params.size()));
    return *this;
  }
  std::int32_t Sample(const float* logits, std::size_t n) {
    std::int32_t id = 0;
    Check(krafla_sampler_sample(handle_.get(), logits, n, &id));
    return id;
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
  internal::Handle<krafla_sampler> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_SAMPLER_HPP_

// A sampler whose custom stage is a Python function; what that raises comes out of the call that
// sampled.
#ifndef KRAFLA_BINDINGS_PYTHON_SRC_SAMPLER_H_
#define KRAFLA_BINDINGS_PYTHON_SRC_SAMPLER_H_

#include <exception>
#include <utility>

#include "bind.h"

namespace krafla_python {

struct PySampler {
  krafla::Sampler sampler;
  std::exception_ptr thrown;  // by the custom stage

  PySampler() = default;
  explicit PySampler(uint64_t seed) : sampler(seed) {}

  // In the handler of an error of the library's.
  void Rethrow() {
    if (thrown) std::rethrow_exception(std::exchange(thrown, nullptr));
  }
};

}  // namespace krafla_python

#endif  // KRAFLA_BINDINGS_PYTHON_SRC_SAMPLER_H_

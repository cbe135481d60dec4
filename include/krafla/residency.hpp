// krafla::GetResidency, krafla::Trim: what a model larger than memory has of its experts there.
// Part of krafla.hpp; C++17.
#ifndef KRAFLA_RESIDENCY_HPP_
#define KRAFLA_RESIDENCY_HPP_

#include "krafla/krafla_residency.h"
#include "krafla/model.hpp"

namespace krafla {

// Of a model that was opened with krafla_model_options.residency.
inline krafla_residency_info GetResidency(const Model& model) {
  krafla_residency_info info{};
  info.struct_size = sizeof(info);
  Check(krafla_model_get_residency(model.get(), &info));
  return info;
}

// Returns the bytes that the slots have then.
inline std::uint64_t Trim(const Model& model, std::uint64_t bytes) {
  std::uint64_t left = 0;
  Check(krafla_model_trim(model.get(), bytes, &left));
  return left;
}

}  // namespace krafla

#endif  // KRAFLA_RESIDENCY_HPP_

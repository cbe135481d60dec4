// A constraint's handles, and the place of a generation in one: which tokens may come next, those
// that end the reply included.
#ifndef KRAFLA_CAPI_CONSTRAINED_H_
#define KRAFLA_CAPI_CONSTRAINED_H_

#include <atomic>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "include/krafla/krafla_constraint.h"
#include "lib/constraint/constraint.h"

struct krafla_constraint {
  std::shared_ptr<const void> owner;  // of the tokenizer's bytes
  std::shared_ptr<const krafla::Constraint> constraint;
};

namespace krafla::capi {

class ConstrainedReply {
 public:
  // UnsupportedError where the constraint was made for another tokenizer.
  static StatusOr<std::unique_ptr<ConstrainedReply>> Create(const krafla_constraint& constraint,
                                                            const Tokenizer& tokenizer,
                                                            std::span<const int32_t> end_ids);

  bool over() const { return state_.complete() && !state_.open(); }
  // The mask for Sampler::Sample: what can follow, and end_ids where the text is whole, not
  // elsewhere. Valid until the next call.
  StatusOr<std::span<const uint32_t>> Allowed();
  Status Accept(int32_t id) { return state_.Accept(id); }

 private:
  ConstrainedReply(std::shared_ptr<const void> owner, ConstraintState state)
      : owner_(std::move(owner)), state_(std::move(state)) {}

  std::shared_ptr<const void> owner_;
  ConstraintState state_;
  std::vector<int32_t> end_ids_;
  std::vector<uint32_t> mask_;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_CONSTRAINED_H_

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
  // The token that must follow, or -1. Where text is forced its tokens are those that the tokenizer
  // makes of it, however they are read.
  StatusOr<int32_t> Forced();
  // The mask for Sampler::Sample: that token, or else what can follow, and end_ids where the text
  // is whole, not elsewhere. Valid until the next call.
  StatusOr<std::span<const uint32_t>> Allowed();
  Status Accept(int32_t id);
  // How many of the first ones can follow one another.
  size_t Possible(std::span<const int32_t> ids) const;

 private:
  ConstrainedReply(std::shared_ptr<const void> owner, ConstraintState state)
      : owner_(std::move(owner)), state_(std::move(state)) {}

  std::shared_ptr<const void> owner_;
  ConstraintState state_;
  std::vector<int32_t> end_ids_;
  std::vector<uint32_t> mask_;
  std::vector<int32_t> forced_;
  size_t n_taken_ = 0;  // of forced_
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_CONSTRAINED_H_

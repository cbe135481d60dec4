// See constrained.h.
#include "capi/constrained.h"

#include <algorithm>

namespace krafla::capi {
namespace {

constexpr int32_t kMaxEndId = 1 << 24;  // no vocabulary is larger

}  // namespace

StatusOr<std::unique_ptr<ConstrainedReply>> ConstrainedReply::Create(
    const krafla_constraint& constraint, const Tokenizer& tokenizer,
    std::span<const int32_t> end_ids) {
  const Vocabulary& vocabulary = constraint.constraint->vocabulary();
  if (&vocabulary.tokenizer() != &tokenizer &&
      vocabulary.tokenizer().table() != tokenizer.table()) {
    return UnsupportedError(
        "krafla_generate_options: constraint: it was compiled for another tokenizer");
  }
  KRAFLA_ASSIGN_OR_RETURN(ConstraintState state, ConstraintState::Create(constraint.constraint));
  std::unique_ptr<ConstrainedReply> made(new ConstrainedReply(constraint.owner, std::move(state)));
  // A model may have ids that its tokenizer has not.
  size_t words = vocabulary.mask_words();
  for (const int32_t id : end_ids) {
    if (id < 0 || id >= kMaxEndId) continue;
    made->end_ids_.push_back(id);
    words = std::max(words, static_cast<size_t>(id) / 32 + 1);
  }
  made->mask_.resize(words);
  return made;
}

StatusOr<int32_t> ConstrainedReply::Forced() {
  if (n_taken_ == forced_.size()) {
    KRAFLA_RETURN_IF_ERROR(state_.ForcedTokens(&forced_));
    // What the host takes for an end is none within the text.
    const auto end =
        std::find_first_of(forced_.begin(), forced_.end(), end_ids_.begin(), end_ids_.end());
    forced_.erase(end, forced_.end());
    n_taken_ = 0;
  }
  return n_taken_ < forced_.size() ? forced_[n_taken_] : -1;
}

Status ConstrainedReply::Accept(int32_t id) {
  KRAFLA_RETURN_IF_ERROR(state_.Accept(id));
  if (n_taken_ < forced_.size()) ++n_taken_;
  return OkStatus();
}

size_t ConstrainedReply::Possible(std::span<const int32_t> ids) const {
  ConstraintState after = state_;
  size_t n = 0;
  while (n < ids.size() && after.Accept(ids[n]).ok()) ++n;
  return n;
}

StatusOr<std::span<const uint32_t>> ConstrainedReply::Allowed() {
  KRAFLA_ASSIGN_OR_RETURN(const int32_t forced, Forced());
  if (forced >= 0) {
    std::fill(mask_.begin(), mask_.end(), 0);
    mask_[static_cast<size_t>(forced) / 32] = 1u << (forced % 32);
    return std::span<const uint32_t>(mask_);
  }
  KRAFLA_RETURN_IF_ERROR(
      state_.Mask(std::span(mask_).first(state_.constraint().vocabulary().mask_words())));
  for (const int32_t id : end_ids_) {
    const uint32_t bit = 1u << (id % 32);
    uint32_t& word = mask_[static_cast<size_t>(id) / 32];
    word = state_.complete() ? word | bit : word & ~bit;
  }
  return std::span<const uint32_t>(mask_);
}

}  // namespace krafla::capi

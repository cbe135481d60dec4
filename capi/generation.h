// One generation: sample, report, read, again, at once or in slices. The loop is the ABI's own,
// since sessions know neither samplers nor text. Whatever ends it, the session, the sampler's
// history and the reported count agree.
#ifndef KRAFLA_CAPI_GENERATION_H_
#define KRAFLA_CAPI_GENERATION_H_

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "capi/constrained.h"
#include "capi/handles.h"
#include "capi/text_stream.h"
#include "include/krafla/krafla_batch.h"
#include "lib/batch/speculator.h"

namespace krafla::capi {

class Generation {
 public:
  // Checks what the caller gave and copies it. The session must live as long as this.
  static StatusOr<std::unique_ptr<Generation>> Create(krafla_session* session,
                                                      krafla_sampler* sampler,
                                                      const krafla_generate_options& options);

  // StateError where the session has no logits to begin with.
  Status CheckLogits() const;
  // As Session::Step: true when the reply has ended. After a failure it may go on.
  StatusOr<bool> Step(int64_t max_us);
  void Abandon();  // the token that is being read
  // Where somebody else reads what is chosen: the next token and at most so many in all that a
  // constraint forces behind it, none where the reply has ended; then, once they are read, whether
  // the reply has ended with them.
  StatusOr<std::span<const int32_t>> ChooseNext(size_t most);
  StatusOr<bool> TakeRead();
  const krafla_generate_result& result() const { return result_; }

 private:
  using Clock = std::chrono::steady_clock;
  Generation(krafla_session* session, const krafla_generate_options& options)
      : session_(session), options_(options) {}
  Status OpenText(std::vector<std::string> stops);
  Status OpenConstraint(const krafla_constraint* given);
  Status OpenSpeculation(const krafla_speculation* given);
  Status Choose(std::span<const float> logits, int64_t position);
  StatusOr<int32_t> Sample(std::span<const float> logits);
  Status Take(int32_t id, std::span<const float> logits, int64_t position);
  Status AddForced(size_t most);
  Status BeginDraft();
  StatusOr<bool> Draft(int64_t max_us);
  Status BeginRead(std::span<const int32_t> draft);
  Status Read(int64_t max_us);
  Status TakeDraft();
  Status Accept(int32_t id);
  bool Ends(int32_t id) const;
  bool Tell(int32_t id, std::string_view text, std::span<const float> logits, int64_t position);
  void Finish(int32_t how);

  krafla_session* session_;
  krafla_generate_options options_;  // its arrays are not used: the copies below are
  std::vector<int32_t> end_ids_;
  std::shared_ptr<SharedSampler> sampler_;
  std::shared_ptr<const void> tokenizer_owner_;  // of its table's bytes, where it is the caller's
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::optional<TextStream> text_;
  std::unique_ptr<ConstrainedReply> constraint_;  // may be null
  std::vector<int32_t> top_ids_;
  std::vector<float> top_logprobs_;
  std::vector<int32_t> chain_top_ids_;
  std::vector<float> chain_top_logprobs_;
  krafla_generate_result result_ = KRAFLA_GENERATE_RESULT_INIT;
  int64_t before_ = 0;  // length at the beginning
  // A token is chosen; a draft of what may follow it is begun and made, where there is a
  // speculator; it is read with its draft.
  enum class Phase { kChoose, kBeginDraft, kDraft, kRead };
  Phase phase_ = Phase::kChoose;
  int32_t id_ = -1;              // the token that was chosen last
  std::vector<int32_t> chosen_;  // it, behind those that are read with it: all but the first forced
  int32_t after_ = 0;            // how the reply finishes once it is read, 0: it goes on
  int32_t end_ = 0;              // how it finishes where nothing was chosen

  std::unique_ptr<Speculator> speculator_;    // may be null
  std::atomic<bool>* draft_busy_ = nullptr;   // of the draft model's session
  int64_t most_drafted_ = 0;                  // tokens of a draft
  std::array<int32_t, kHeadRows> reading_{};  // id_ and what was drafted behind it
  size_t n_reading_ = 0;                      // 1: chosen_ is read, without a draft
  double read_us_ = 0;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_GENERATION_H_

// A session: the token ids it has read, their KV pages and recurrent state, and the logits that
// follow. Not for two threads at once (the ABI refuses a second one); Cancel() alone may come from
// anywhere. A call that fails or is cancelled leaves ids, state and logits as they were; only
// Step() keeps work.
#ifndef KRAFLA_LIB_SESSION_SESSION_H_
#define KRAFLA_LIB_SESSION_SESSION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/base/status.h"
#include "lib/file/source.h"
#include "lib/model/driver.h"
#include "lib/model/model.h"
#include "lib/model/state.h"
#include "lib/session/snapshots.h"

namespace krafla {

class Job;           // lib/session/job.h: what is being computed
struct SavedHeader;  // lib/session/saved.h
class SavedReader;

struct SessionOptions {
  int64_t context = 0;  // positions; 0: the smaller of 4096 and the model's maximum
  KvType kv = KvType::kF16;
  int64_t reserve = -1;  // positions whose pages are taken at creation; -1: the whole context
  int64_t batch = 0;     // rows of one forward pass; 0: 256, more where experts are streamed
  // Of a model with recurrent state: bytes of its earlier copies (lib/session/snapshots.h), 0: 256
  // MiB, -1: none; and tokens between two of them in a long prompt, 0: 512.
  int64_t snapshot_bytes = 0;
  int64_t snapshot_spacing = 0;
  uint64_t slab_bytes = 0;  // of experts in memory where they are streamed; Create knows it
};

// Bytes by kind that a session of these options takes at most, known before anything is allocated.
struct SessionPlan {
  uint64_t kv = 0;
  uint64_t state = 0;  // snapshots included
  uint64_t scratch = 0;
};
StatusOr<SessionPlan> PlanSession(const Config& config, const SessionOptions& options,
                                  size_t threads);

enum class WantLogits : int32_t { kLast = 0, kAll = 1, kNone = 2 };

struct AppendOptions {
  WantLogits logits = WantLogits::kLast;
  // kAll: called in ascending position with the row that follows it; non-zero stops
  // (CallbackError).
  int (*on_logits)(void* user, int64_t position, const float* row, size_t n_vocab) = nullptr;
  // The row behind the final norm of each position, [n_embd], in ascending position.
  int (*on_hidden)(void* user, int64_t position, const float* row, size_t n_embd) = nullptr;
  // Called between work items of a prompt, from the calling thread; non-zero stops (CallbackError).
  int (*on_progress)(void* user, int64_t done, int64_t total) = nullptr;
  void* user = nullptr;
};

struct CutReport {
  int64_t length = 0;      // after the call
  int64_t reused = 0;      // positions kept
  int64_t recomputed = 0;  // positions read again from the ids to reach the length asked for
};

class Session {
 public:
  static StatusOr<std::unique_ptr<Session>> Create(std::shared_ptr<const Model> model,
                                                   const SessionOptions& options);
  ~Session();

  // Ids outside the vocabulary: ArgumentError; too many for the context: ContextError, nothing
  // computed.
  Status Append(std::span<const int32_t> ids, const AppendOptions& options);

  // The same in slices: Begin() checks and notes, each Step() works until `max_us` have passed (0:
  // one work item; negative: to the end) and returns true when the ids are in. Between steps only
  // Step(), Abandon() and the getters are allowed (StateError); Abandon() drops what was begun.
  Status Begin(std::span<const int32_t> ids, const AppendOptions& options);
  StatusOr<bool> Step(int64_t max_us);
  void Abandon();

  // A draft: ids of which perhaps only the first will stay, at most max_draft(). Begins and steps
  // as an append; once Step() has returned true their logits are there, and Keep(n) makes it an
  // append of the first n, bit-equal to one, or of none. Keep cannot fail.
  Status BeginDraft(std::span<const int32_t> ids);
  std::span<const float> draft_logits(size_t i) const;  // after ids[i]
  void Keep(size_t n);
  size_t max_draft() const;

  // To length <= this->length(); the logits are those after the cut. report may be null.
  Status Truncate(int64_t length, CutReport* report);
  // To the last anchor of at most `length`, which it returns; there are no logits then. Cannot
  // fail; nothing may be begun.
  int64_t CutBack(int64_t length);
  StatusOr<std::unique_ptr<Session>> Fork(int64_t reserve) const;  // copies nothing of the KV
  // A session that has read the first `length` ids, or those up to the last anchor before, and
  // shares scratch and pool of pages with this one: only one of them may be at work at a time.
  StatusOr<std::unique_ptr<Session>> Branch(int64_t length);
  // Makes the session one that has read exactly `ids`: what they have in common with its own stays,
  // as far as an anchor allows, the rest is read. report may be null.
  Status Edit(std::span<const int32_t> ids, const AppendOptions& options, CutReport* report);

  // What has been read, as bytes (docs/formats.md): ids, and where `cache` is set also the state
  // and logits, so that nothing has to be read again.
  uint64_t saved_bytes(bool cache) const;
  Status Save(bool cache, ByteSink& out) const;
  Status SaveAs(std::string_view path, bool cache) const;  // a file that appears when it is whole
  // Becomes the session that was saved. With a cache of another kind: UnsupportedError; of another
  // model or damaged: FileError; then nothing has changed. replay: a cache and the number of the
  // arithmetic are passed over and the ids are read again, as by Edit.
  Status Restore(const FileSource& in, bool replay, const AppendOptions& options,
                 CutReport* report);

  // May be called from any thread; the running call, or else the next one, returns CancelledError.
  void Cancel() { cancel_.store(true, std::memory_order_relaxed); }
  // For work of another session on this one's behalf: whether it was cancelled; once, where taken.
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }
  bool TakeCancel() { return cancel_.exchange(false); }

  const std::shared_ptr<const Model>& model() const { return model_; }
  std::span<const int32_t> ids() const { return {ids_.data(), static_cast<size_t>(length_)}; }
  int64_t length() const { return length_; }
  int64_t context() const { return options_.context; }
  KvType kv() const { return options_.kv; }
  bool recurrent() const { return state_.recurrent_bytes() > 0; }
  // Logits after the last id; empty before the first append, after kNone and after a cut that did
  // not keep them (the next Append brings new ones; Truncate to a length > 0 recomputes its last
  // row).
  std::span<const float> logits() const { return logits_; }
  uint64_t kv_bytes() const { return state_.held_bytes(); }  // of its pages, shared ones included
  uint64_t held_bytes() const;           // of all that is its own, shared pages included
  bool begun() const { return begun_; }  // between Begin() and the last Step()
  const Snapshots& snapshots() const { return snapshots_; }

  // One pass over rows of several sessions of one model: ids[i] is appended to sessions[i], each
  // result bit-equal to an append alone. All or nothing.
  static Status AppendBatch(std::span<Session* const> sessions,
                            std::span<const std::span<const int32_t>> ids);

 private:
  friend class Job;
  friend class Scheduler;  // lib/batch/scheduler.h: jobs over sessions of its own
  Session() = default;
  static StatusOr<std::unique_ptr<Session>> Make(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options,
                                                 std::shared_ptr<Driver> driver);
  void Ended() {  // what was begun
    begun_ = draft_ = false;
    state_.Trace(false);
  }
  Status CheckIdle() const;  // StateError between Begin() and the end of it
  Status CheckVocabulary(std::span<const int32_t> ids) const;
  Status CheckIds(std::span<const int32_t> ids) const;
  float* logits_row(int which) const;  // [PadTo16(n_vocab)]
  // The last position up to `length` at which the state can be cut, and where it is recurrent what
  // it was there; what lies behind it is read again.
  Snapshots::Copy AnchorBefore(int64_t length);
  void BecomeCopy(const Snapshots::Copy& copy);
  Status RestoreCache(const SavedHeader& header, SavedReader& in);

  std::shared_ptr<const Model> model_;
  SessionOptions options_;    // no zeros and -1 any more
  std::vector<int32_t> ids_;  // capacity for the whole context; behind length_: what was begun
  int64_t length_ = 0;
  State state_;
  Snapshots snapshots_;
  std::shared_ptr<Driver> driver_;
  Buffer logits_rows_;  // two rows: the current one, and the one that an append writes
  int current_ = 0;
  std::span<const float> logits_;
  std::unique_ptr<Job> job_;
  bool begun_ = false;
  bool draft_ = false;   // what is begun is a draft
  bool within_ = false;  // the last append was a piece of a text that goes on
  std::atomic<bool> cancel_{false};
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SESSION_SESSION_H_

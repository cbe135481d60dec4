// Many requests, one pass: each pass has a row for every reply in progress and fills up with pieces
// of prompts, so a long prompt holds nobody up. Sessions share scratch and pool of pages; texts of
// replies that have ended are kept for those that begin alike (prefix_cache.h). Every reply is
// bit-equal to one that runs alone. After a pass that failed each of its requests goes once more,
// alone: what one of them cannot have (memory, an expert that cannot be read) ends that one only.
//
// Who comes first, in the queue and with a prompt: the higher priority, then the older request. One
// that waits rises by one level every kAgePasses passes, so none waits for ever.
#ifndef KRAFLA_LIB_BATCH_SCHEDULER_H_
#define KRAFLA_LIB_BATCH_SCHEDULER_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "lib/base/status.h"
#include "lib/batch/prefix_cache.h"
#include "lib/batch/saved_texts.h"
#include "lib/session/job.h"
#include "lib/session/session.h"

namespace krafla {

// What a request wants, from the thread that steps. Nothing is called after Ended.
class Task {
 public:
  virtual ~Task() = default;
  // All that the session has read is reused.
  virtual void Began(const std::shared_ptr<Session>& /*session*/) {}
  virtual void Progress(int64_t /*done*/, int64_t /*total*/) {}  // of the prompt
  // The next tokens to read, at most so many, which stay in place until Took; none: the reply has
  // ended. The session is not changed.
  virtual StatusOr<std::span<const int32_t>> Next(const Session& session, size_t most) = 0;
  // They were read. True: the reply has ended with them.
  virtual StatusOr<bool> Took() = 0;
  virtual void Ended(const Status& status) noexcept = 0;

  // From any thread: it ends before the next pass.
  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> cancelled_{false};
};

struct SchedulerOptions {
  SessionOptions session;    // batch: rows of a pass; 0: 64
  int64_t parallel = 0;      // requests that run; 0: 8
  int64_t queue = 0;         // and that wait for one of these places; 0: 1024
  uint64_t cache_bytes = 0;  // of ended texts; 0: none
  std::string folder;        // for texts beyond these (saved_texts.h); empty: none
  uint64_t folder_bytes = 0;
};

struct SchedulerInfo {
  int64_t running = 0;
  int64_t waiting = 0;
  int64_t passes = 0;
  int64_t prompt_tokens = 0;  // read; those that were reused are not counted
  int64_t reused_tokens = 0;
  int64_t reply_tokens = 0;
  uint64_t cache_bytes = 0;
  int64_t cached = 0;  // texts
  uint64_t folder_bytes = 0;
  int64_t in_folder = 0;  // texts
};

class Scheduler {
 public:
  static constexpr int64_t kAgePasses = 64;

  static StatusOr<std::unique_ptr<Scheduler>> Create(std::shared_ptr<const Model> model,
                                                     const SchedulerOptions& options);
  ~Scheduler();  // what runs or waits ends as cancelled

  // From any thread. ids: at least one, and room in the context for one more; a full queue is a
  // StateError.
  Status Add(std::vector<int32_t> ids, int32_t priority, std::shared_ptr<Task> task);
  SchedulerInfo info() const;  // from any thread, as of the last pass
  bool idle() const;           // from any thread: nothing to do

  // Works as Session::Step; true: nothing is left to do. One thread at a time. A pass that was
  // interrupted goes on.
  StatusOr<bool> Step(int64_t max_us);

  const std::shared_ptr<Session>& root() const {
    return root_;
  }  // empty, with the options of every session

 private:
  struct Request {
    std::vector<int32_t> ids;
    int64_t priority = 0;
    int64_t arrived = 0;
    int64_t since = 0;  // pass at which it came
    std::shared_ptr<Task> task;
    std::shared_ptr<Session> session;  // null: it waits
    bool replies = false;              // its prompt is read
    std::span<const int32_t> chosen;   // of the task, until they are read
    int64_t reading = 0;               // rows in this pass
    bool alone = false;                // its last pass failed
  };
  using RequestPtr = std::unique_ptr<Request>;

  Scheduler() = default;
  void TakeInbox();
  void SweepCancelled();
  void Admit();
  Status Open(Request& request);
  void PlanPass();
  bool PlanReply(Request& request, int64_t most);
  static void ShareRows(std::span<Request* const> prompts, int64_t room);
  bool PlanPrompt(Request& request);
  bool FreeOne();
  Status AddRows(Request& request, std::span<const int32_t> ids, bool goes_on);
  void FinishPass();
  void FailPass(const Status& status);
  void FinishRows(Request& request);
  void End(Request& request, const Status& status) noexcept;
  void RemoveEnded();
  bool Before(const Request& a, const Request& b) const;
  void Publish();

  SchedulerOptions options_;
  std::shared_ptr<Session> root_;
  std::unique_ptr<SavedTexts> saved_;  // null: no folder
  std::unique_ptr<PrefixCache> cache_;
  std::vector<RequestPtr> waiting_;
  std::vector<RequestPtr> running_;
  Job job_;
  bool in_pass_ = false;
  int64_t passes_ = 0;
  SchedulerInfo counts_;

  mutable std::mutex mutex_;  // of what follows
  std::vector<RequestPtr> inbox_;
  int64_t n_waiting_ = 0;  // inbox_ and waiting_
  int64_t n_running_ = 0;
  int64_t arrivals_ = 0;
  SchedulerInfo info_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_BATCH_SCHEDULER_H_

// A computation in progress: rows of one or several sessions, cut into batches for the driver, and
// committed together at the end or dropped together.
#ifndef KRAFLA_LIB_SESSION_JOB_H_
#define KRAFLA_LIB_SESSION_JOB_H_

#include <cstdint>
#include <span>
#include <vector>

#include "lib/base/status.h"
#include "lib/model/driver.h"
#include "lib/session/session.h"

namespace krafla {

class Job final : public DriverEvents {
 public:
  // Rows [position, position + n) of a session; their ids are in its ids_.
  struct Part {
    Session* session = nullptr;
    int64_t position = 0;
    int64_t n = 0;
    int64_t done = 0;
    int64_t in_pass = 0;
    bool goes_on = false;  // more of the same text follows: no logits are wanted
  };

  Job() = default;
  ~Job() override = default;

  // Room for this many parts, so that what follows allocates nothing.
  void Reserve(size_t n_parts);
  // Appends `ids` behind the session's length; ids are checked. What fails is not part of the job.
  Status AddAppend(Session& session, std::span<const int32_t> ids, bool goes_on = false);
  // Computes ids that the session has once more; Commit cuts behind them.
  Status AddAgain(Session& session, int64_t position, int64_t n);
  void Begin(Driver& driver, const AppendOptions& options);

  StatusOr<bool> Run(const Driver::Pause& pause);  // true: all rows are done
  void Commit();
  void CommitFirst(int64_t n);  // of a draft, whose rows are all done
  void Drop();                  // every session as it was

  Status Check() override;
  Status OnLogits(size_t sequence, int64_t position, const float* row) override;
  Status OnHidden(size_t sequence, int64_t position, const float* row) override;

 private:
  Status AddPart(const Part& part);
  static int64_t EndAtAnchor(const Part& part);
  void BeginPass();
  void EndPass();

  std::vector<Part> parts_;
  std::vector<BatchSequence> batch_;
  AppendOptions options_;
  Driver* driver_ = nullptr;
  int64_t total_ = 0;
  int64_t done_ = 0;
  int64_t in_pass_ = 0;  // rows of the pass that the driver is working on; 0: none
};

// Drops the job at the end of a scope, unless it was committed or is to go on.
class DropGuard {
 public:
  explicit DropGuard(Job& job) : job_(&job) {}
  ~DropGuard() {
    if (job_ != nullptr) job_->Drop();
  }
  DropGuard(const DropGuard&) = delete;
  DropGuard& operator=(const DropGuard&) = delete;
  void Dismiss() { job_ = nullptr; }

 private:
  Job* job_;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_SESSION_JOB_H_

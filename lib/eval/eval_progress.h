// How far a measurement is, in units of its own, and whether it is told to stop: asked between the
// pieces of what its sessions read, since a chunk of a long context takes minutes.
#ifndef KRAFLA_LIB_EVAL_EVAL_PROGRESS_H_
#define KRAFLA_LIB_EVAL_EVAL_PROGRESS_H_

#include <cstdint>
#include <span>

#include "lib/base/status.h"
#include "lib/session/session.h"

namespace krafla {

class EvalProgress {
 public:
  EvalProgress(LoadProgress callback, void* user, uint64_t total)
      : callback_(callback), user_(user), total_(total) {}

  // CallbackError: the callback says stop.
  Status Report(uint64_t done);
  // session->Append, with what was done before it reported at its begin and in between.
  Status Append(Session* session, std::span<const int32_t> ids, const AppendOptions& options);

 private:
  LoadProgress callback_;
  void* user_;
  uint64_t total_;
  uint64_t done_ = 0;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_EVAL_EVAL_PROGRESS_H_

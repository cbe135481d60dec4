// A parallel loop over independent items, on the runtime's own threads, on the host's parallel_for,
// or on the caller alone. Results never depend on which: an item computes the same wherever it
// runs.
#ifndef KRAFLA_LIB_RUNTIME_THREAD_POOL_H_
#define KRAFLA_LIB_RUNTIME_THREAD_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/status.h"

namespace krafla {

// Runs [begin, end). Must not throw: on a worker that would end the process. `thread` is below
// ThreadPool::size(), 0 for the caller: scratch of a thread's own.
using RangeFunction = void (*)(void* context, size_t begin, size_t end, size_t thread);

// The host runs task(task_context, i) once for each i in [0, n), on threads of its choice, and
// returns when all are done. Tasks share the work out among themselves: they may also run one after
// another.
using HostParallelFor = void (*)(void* user, size_t n, void (*task)(void* task_context, size_t i),
                                 void* task_context);

struct ThreadOptions {
  // Caller included, at most 1024; 0: physical cores in the affinity mask and CPU quota. With
  // parallel_for no threads are made, and this is how many tasks it is given at most.
  int32_t threads = 0;
  HostParallelFor parallel_for = nullptr;
  void* parallel_for_user = nullptr;
};

int32_t DefaultThreads();

class ThreadPool {
 public:
  static StatusOr<std::unique_ptr<ThreadPool>> Create(const ThreadOptions& options);
  virtual ~ThreadPool() = default;

  size_t size() const { return size_; }
  // Calls `run` over pieces of [0, n), each at most `grain` long (the last may be shorter), and
  // returns when all are done. n <= grain runs on the caller. One job at a time: a second caller
  // meanwhile runs its own job on its own thread, as thread 0 of its own context (so does a call
  // from inside `run`). The caller holds DefaultFloatMode; workers and the host's tasks hold one of
  // their own.
  virtual void Run(size_t n, size_t grain, RangeFunction run, void* context) = 0;

 protected:
  size_t size_ = 1;
};

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_THREAD_POOL_H_

// The pool is used some 300 times a token for jobs of about 100 us, so its barrier has to take a
// few microseconds. One atomic word, the gate, lets workers into the open job and counts those
// inside. The caller works too, shuts the gate when the pieces have run out and waits only for
// workers still inside: one that is asleep, or has lost its CPU, is not waited for. Workers spin
// for some time, then sleep.
#include "lib/runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <vector>

#include "lib/base/float_mode.h"
#include "lib/runtime/native_thread.h"
#include "lib/runtime/topology.h"

namespace krafla {
namespace {

constexpr int32_t kMaxThreads = 1024;
// Sanitizers need room; untouched pages cost nothing.
constexpr size_t kStackBytes = size_t{1} << 20;
// Longer than the serial stretches between the jobs of one token, shorter than anyone would notice.
constexpr std::chrono::nanoseconds kSpinTime = std::chrono::microseconds(40);

// The gate: workers inside, whether others may enter, and the job's number (it may wrap: a worker
// that takes an open job for one it has seen only stays out of it).
constexpr uint32_t kInside = (1u << 11) - 1;
constexpr uint32_t kOpen = 1u << 11;
constexpr uint32_t kEpoch = 1u << 12;
constexpr uint32_t EpochOf(uint32_t gate) { return gate / kEpoch; }

inline void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" : : : "memory");  // `yield` does nothing on most cores
#elif defined(__arm__)
  asm volatile("yield" : : : "memory");
#endif
}

// Pauses that take kSpinTime. A pause is 10 to 140 cycles and a clock may be a system call, so it
// is measured once; the shortest of some tries is the one that was not interrupted.
uint32_t MeasureSpins() {
  constexpr uint32_t kPauses = 256;
  auto shortest = std::chrono::nanoseconds::max();
  for (int attempt = 0; attempt < 3; ++attempt) {
    const auto start = std::chrono::steady_clock::now();
    for (uint32_t i = 0; i < kPauses; ++i) Pause();
    shortest =
        std::min<std::chrono::nanoseconds>(shortest, std::chrono::steady_clock::now() - start);
  }
  const auto per_spin = std::max<int64_t>(shortest.count(), 1);
  return static_cast<uint32_t>(std::max<int64_t>(kSpinTime.count() * kPauses / per_spin, 1));
}

struct Job {
  size_t n = 0;
  size_t grain = 1;
  size_t pieces = 0;
  RangeFunction run = nullptr;
  void* context = nullptr;

  static Job Make(size_t n, size_t grain, RangeFunction run, void* context) {
    grain = std::max<size_t>(grain, 1);
    return {n, grain, n / grain + (n % grain != 0), run, context};
  }
  void RunPiece(size_t piece, size_t thread) const {
    const size_t begin = piece * grain;
    run(context, begin, begin + std::min(grain, n - begin), thread);
  }
  // Takes pieces until none is left.
  void RunShare(std::atomic<size_t>& next, size_t thread) const {
    for (;;) {
      const size_t piece = next.fetch_add(1, std::memory_order_relaxed);
      if (piece >= pieces) return;
      RunPiece(piece, thread);
    }
  }
  void RunAlone() const {
    for (size_t piece = 0; piece < pieces; ++piece) RunPiece(piece, 0);
  }
};

// Held by the one job that may use the threads; a caller that does not get it works alone.
class TryLock {
 public:
  explicit TryLock(std::atomic<bool>& busy) : busy_(busy) {
    held_ = !busy_.exchange(true, std::memory_order_acquire);
  }
  ~TryLock() {
    if (held_) busy_.store(false, std::memory_order_release);
  }
  TryLock(const TryLock&) = delete;
  TryLock& operator=(const TryLock&) = delete;
  bool held() const { return held_; }

 private:
  std::atomic<bool>& busy_;
  bool held_;
};

// --- own threads
// ------------------------------------------------------------------------------------

class OwnThreads final : public ThreadPool {
 public:
  OwnThreads(size_t size, bool spin) : spins_(spin ? MeasureSpins() : 0) {
    size_ = size;
    workers_.reserve(size - 1);
  }
  ~OwnThreads() override;
  Status Start();
  void Run(size_t n, size_t grain, RangeFunction run, void* context) override;

 private:
  struct Worker {
    OwnThreads* pool;
    size_t thread;
    NativeThread handle;
  };
  void Work(size_t thread);
  uint32_t AwaitJob(uint32_t seen);
  void Leave();
  void AwaitWorkers();

  const uint32_t spins_;
  std::vector<Worker> workers_;
  std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false};
  Job job_;  // written with the gate shut and nobody inside
  alignas(64) std::atomic<uint32_t> gate_{0};
  std::atomic<uint32_t> sleepers_{0};  // workers that the opening of the gate has to wake
  alignas(64) std::atomic<size_t> next_{0};
  alignas(64) std::atomic<uint32_t> departures_{0};  // counts what a sleeping caller was woken for
  std::atomic<bool> caller_sleeps_{false};
};

Status OwnThreads::Start() {
  const auto main = [](void* context) {
    const Worker& worker = *static_cast<const Worker*>(context);
    worker.pool->Work(worker.thread);
  };
  while (workers_.size() < size_ - 1) {
    const size_t thread = workers_.size() + 1;
    const std::string name = FormatText("krafla-{}", thread);
    workers_.push_back({this, thread, {}});  // in place: the thread reads it
    StatusOr<NativeThread> started = NativeThread::Start(kStackBytes, name, main, &workers_.back());
    if (!started.ok()) {
      workers_.pop_back();  // the destructor joins those that run
      return started.status();
    }
    workers_.back().handle = *std::move(started);
  }
  return OkStatus();
}

OwnThreads::~OwnThreads() {
  stop_.store(true);
  gate_.fetch_add(kEpoch);
  WakeAll(gate_);
  for (Worker& worker : workers_) worker.handle.Join();
}

void OwnThreads::Run(size_t n, size_t grain, RangeFunction run, void* context) {
  const Job job = Job::Make(n, grain, run, context);
  if (job.pieces <= 1 || size_ == 1) return job.RunAlone();
  const TryLock lock(busy_);
  if (!lock.held()) return job.RunAlone();

  job_ = job;
  next_.store(0, std::memory_order_relaxed);
  // Sequentially consistent, as in AwaitJob: either the worker sees the gate open or we see it
  // sleep.
  gate_.store((EpochOf(gate_.load(std::memory_order_relaxed)) + 1) * kEpoch + kOpen);
  if (sleepers_.load() != 0) WakeAll(gate_);
  job.RunShare(next_, 0);
  gate_.fetch_and(~kOpen);
  AwaitWorkers();
}

void OwnThreads::AwaitWorkers() {
  for (uint32_t i = 0; i <= spins_; ++i) {
    if ((gate_.load(std::memory_order_acquire) & kInside) == 0) return;
    Pause();
  }
  caller_sleeps_.store(true);
  for (;;) {
    const uint32_t seen = departures_.load();
    if ((gate_.load() & kInside) == 0) break;
    WaitOn(departures_, seen);
  }
  caller_sleeps_.store(false, std::memory_order_relaxed);
}

void OwnThreads::Leave() {
  const uint32_t before = gate_.fetch_sub(1);
  const bool last = (before & kInside) == 1 && (before & kOpen) == 0;
  if (last && caller_sleeps_.load()) {
    departures_.fetch_add(1);
    WakeOne(departures_);
  }
}

// Returns the gate once its number is another than `seen`.
uint32_t OwnThreads::AwaitJob(uint32_t seen) {
  uint32_t gate = gate_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < spins_ && EpochOf(gate) == seen; ++i) {
    Pause();
    gate = gate_.load(std::memory_order_acquire);
  }
  if (EpochOf(gate) != seen) return gate;
  sleepers_.fetch_add(1);
  while (EpochOf(gate = gate_.load()) == seen) WaitOn(gate_, gate);
  sleepers_.fetch_sub(1);
  return gate;
}

void OwnThreads::Work(size_t thread) {
  const DefaultFloatMode mode;
  for (uint32_t seen = 0;;) {
    uint32_t gate = AwaitJob(seen);
    if (stop_.load()) return;
    seen = EpochOf(gate);
    while ((gate & kOpen) != 0 && EpochOf(gate) == seen) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
        job_.RunShare(next_, thread);
        Leave();
        break;
      }
    }
  }
}

// --- the host's threads
// -----------------------------------------------------------------------------

class HostThreads final : public ThreadPool {
 public:
  HostThreads(size_t size, HostParallelFor parallel_for, void* user)
      : parallel_for_(parallel_for), user_(user) {
    size_ = size;
  }

  void Run(size_t n, size_t grain, RangeFunction run, void* context) override {
    Shared shared{Job::Make(n, grain, run, context)};
    const size_t tasks = std::min(size_, shared.job.pieces);
    if (tasks <= 1) return shared.job.RunAlone();
    const TryLock lock(busy_);
    if (!lock.held()) return shared.job.RunAlone();
    shared.tasks = tasks;
    parallel_for_(user_, tasks, Task, &shared);
    shared.job.RunShare(shared.next, 0);  // what is left if the host left tasks out
  }

 private:
  struct Shared {
    Job job;
    std::atomic<size_t> next{0};
    size_t tasks = 0;
  };
  static void Task(void* context, size_t i) {
    Shared& shared = *static_cast<Shared*>(context);
    if (i >= shared.tasks) return;
    const DefaultFloatMode mode;
    shared.job.RunShare(shared.next, i);
  }

  const HostParallelFor parallel_for_;
  void* const user_;
  std::atomic<bool> busy_{false};
};

}  // namespace

int32_t DefaultThreads() { return std::min(UsableCores("", AllowedCpus()), kMaxThreads); }

StatusOr<std::unique_ptr<ThreadPool>> ThreadPool::Create(const ThreadOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return ArgumentError("threads: got {}, want 0 to {}", options.threads, kMaxThreads);
  }
  const size_t size =
      static_cast<size_t>(options.threads != 0 ? options.threads : DefaultThreads());
  if (options.parallel_for != nullptr) {
    return std::make_unique<HostThreads>(size, options.parallel_for, options.parallel_for_user);
  }
  // A spinning worker without a CPU of its own takes the CPU of one that works.
  const bool spin = size > 1 && size <= static_cast<size_t>(UsableCpus("", AllowedCpus()));
  auto pool = std::make_unique<OwnThreads>(size, spin);
  KRAFLA_RETURN_IF_ERROR(pool->Start());
  return pool;
}

}  // namespace krafla

// Every item runs once, in pieces of at most `grain`, whatever the number of threads, the CPUs and
// the callers; workers keep the float mode and take no signals; a pool ends in whatever state it
// is.
#include "lib/runtime/thread_pool.h"

#if !defined(_WIN32)
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <atomic>
#include <cfenv>
#include <chrono>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "lib/runtime/topology.h"
#include "tests/runtime/one_cpu.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

std::unique_ptr<ThreadPool> MakePool(int32_t threads) {
  auto pool = ThreadPool::Create({threads, nullptr, nullptr});
  REQUIRE(pool.ok());
  REQUIRE((*pool)->size() == static_cast<size_t>(threads));
  return *std::move(pool);
}

// A job that knows how often each item ran and whether a piece was as promised. Plain counters:
// that the end of Run orders them before the caller is what ThreadSanitizer checks.
struct Tally {
  size_t grain;
  size_t threads;
  std::vector<uint32_t> runs;
  std::vector<uint64_t> by_thread;  // scratch of a thread's own
  std::atomic<bool> wrong{false};

  Tally(size_t n, size_t grain, size_t threads)
      : grain(grain), threads(threads), runs(n), by_thread(threads) {}
  static void Run(void* context, size_t begin, size_t end, size_t thread) {
    Tally& self = *static_cast<Tally*>(context);
    const size_t most = std::max<size_t>(self.grain, 1);
    if (begin >= end || end > self.runs.size() || end - begin > most || thread >= self.threads) {
      self.wrong = true;
      return;
    }
    for (size_t i = begin; i < end; ++i) ++self.runs[i];
    self.by_thread[thread] += end - begin;
  }
  bool Right(uint32_t times) const {
    for (uint32_t r : runs) {
      if (r != times) return false;
    }
    return !wrong &&
           std::accumulate(by_thread.begin(), by_thread.end(), uint64_t{0}) == runs.size() * times;
  }
};

bool RunOnce(ThreadPool& pool, size_t n, size_t grain) {
  Tally tally(n, grain, pool.size());
  pool.Run(n, grain, Tally::Run, &tally);
  return tally.Right(1);
}

void CheckShapes(ThreadPool& pool) {
  for (size_t n : {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000, 4097}) {
    for (size_t grain : {0, 1, 2, 3, 16, 64, 1000, 5000}) {
      CAPTURE(n, grain, pool.size());
      REQUIRE(RunOnce(pool, n, grain));
    }
  }
  REQUIRE(RunOnce(pool, 100, SIZE_MAX));
}

void Nothing(void*, size_t, size_t, size_t) {}

// The direction that arithmetic really takes (fegetround may look at a unit that is not used).
bool RoundsToNearest() {
  volatile float one = 1.0f;
  volatile float little = 1e-8f;
  volatile float sum = one + little;
  return sum == one;
}

TEST_CASE("every item runs once, for any size, grain and number of threads") {
  const int32_t cpus = static_cast<int32_t>(AllowedCpus().size());
  for (int32_t threads : {1, 2, 3, 4, 7, 4 * cpus}) CheckShapes(*MakePool(threads));
}

TEST_CASE("on one CPU") {
  const OneCpu one(AllowedCpus().front());
  for (int32_t threads : {1, 2, 5}) CheckShapes(*MakePool(threads));
}

TEST_CASE("a pool that loses its CPUs after it was made") {
  const auto pool = MakePool(4);
  const OneCpu one(AllowedCpus().front());
  CheckShapes(*pool);
}

TEST_CASE("a huge range with a huge grain does not overflow") {
  const auto pool = MakePool(2);
  struct Sum {
    std::atomic<size_t> items{0};
    std::atomic<int> pieces{0};
  } sum;
  pool->Run(
      SIZE_MAX, SIZE_MAX / 2,
      [](void* context, size_t begin, size_t end, size_t) {
        static_cast<Sum*>(context)->items += end - begin;
        ++static_cast<Sum*>(context)->pieces;
      },
      &sum);
  REQUIRE(sum.items == SIZE_MAX);
  REQUIRE(sum.pieces == 3);
}

TEST_CASE("many jobs after one another, with and without sleep between them") {
  for (int32_t threads : {2, 3, 8}) {
    const auto pool = MakePool(threads);
    Tally tally(97, 3, pool->size());
    for (int i = 0; i < 20000; ++i) pool->Run(97, 3, Tally::Run, &tally);
    REQUIRE(tally.Right(20000));
    for (int i = 0; i < 50; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      pool->Run(97, 3, Tally::Run, &tally);
    }
    REQUIRE(tally.Right(20050));
  }
}

TEST_CASE("workers take part") {
  const auto pool = MakePool(2);
  std::atomic<int> by_worker{0};
  // A sleeping worker needs some time to wake; the caller's own items are short.
  for (int i = 0; i < 1000 && by_worker == 0; ++i) {
    pool->Run(
        64, 1,
        [](void* context, size_t, size_t, size_t thread) {
          if (thread != 0) ++*static_cast<std::atomic<int>*>(context);
          std::this_thread::sleep_for(std::chrono::microseconds(20));
        },
        &by_worker);
  }
  REQUIRE(by_worker > 0);
}

TEST_CASE("callers at the same time each get their whole job done") {
  for (int32_t threads : {1, 2, 4}) {
    const auto pool = MakePool(threads);
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] {
        Tally tally(50, 2, pool->size());
        for (int i = 0; i < 5000; ++i) pool->Run(50, 2, Tally::Run, &tally);
        if (!tally.Right(5000)) ++wrong;
      });
    }
    for (std::thread& caller : callers) caller.join();
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("a second caller works alone, as thread 0, on its own thread") {
  const auto pool = MakePool(2);
  struct Inner {
    std::thread::id caller;
    std::atomic<int> items{0};
    std::atomic<bool> wrong{false};
  };
  struct Outer {
    ThreadPool* pool;
    std::atomic<bool> wrong{false};
  } outer{pool.get()};
  // The call from inside a job is the second caller without any race.
  pool->Run(
      8, 1,
      [](void* context, size_t, size_t, size_t) {
        Outer& outer = *static_cast<Outer*>(context);
        Inner inner;
        inner.caller = std::this_thread::get_id();
        outer.pool->Run(
            10, 3,
            [](void* context, size_t begin, size_t end, size_t thread) {
              Inner& inner = *static_cast<Inner*>(context);
              if (thread != 0 || std::this_thread::get_id() != inner.caller) inner.wrong = true;
              inner.items += static_cast<int>(end - begin);
            },
            &inner);
        if (inner.wrong || inner.items != 10) outer.wrong = true;
      },
      &outer);
  REQUIRE_FALSE(outer.wrong);
}

TEST_CASE("pools end while their workers start, spin or sleep") {
  for (int i = 0; i < 200; ++i) MakePool(3);
  for (int sleep_us : {0, 10, 1000, 20000}) {
    const auto pool = MakePool(5);
    REQUIRE(RunOnce(*pool, 100, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(sleep_us));
  }
}

#if !defined(_WIN32)
TEST_CASE("workers have names, block signals and keep the default float mode") {
  struct Seen {
    std::atomic<bool> wrong{false};
    std::atomic<int> by_worker{0};
  } seen;
  // The threads' parent has another rounding mode: threads inherit it.
  std::fesetround(FE_UPWARD);
  auto pool = ThreadPool::Create({2, nullptr, nullptr});
  std::fesetround(FE_TONEAREST);
  REQUIRE(pool.ok());
  for (int i = 0; i < 1000 && seen.by_worker == 0; ++i) {
    (*pool)->Run(
        16, 1,
        [](void* context, size_t, size_t, size_t thread) {
          std::this_thread::sleep_for(std::chrono::microseconds(50));
          if (thread == 0) return;
          Seen& seen = *static_cast<Seen*>(context);
          char name[32] = "";
          pthread_getname_np(pthread_self(), name, sizeof(name));
          sigset_t mask;
          pthread_sigmask(SIG_SETMASK, nullptr, &mask);
          const bool blocked = sigismember(&mask, SIGINT) == 1 &&
                               sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGPROF) == 1;
          if (std::string(name) != "krafla-1" || !blocked || !RoundsToNearest()) {
            seen.wrong = true;
          }
          ++seen.by_worker;
        },
        &seen);
  }
  REQUIRE(seen.by_worker > 0);
  REQUIRE_FALSE(seen.wrong);
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  REQUIRE(sigismember(&mask, SIGINT) == 0);
}

#endif

#if !defined(_WIN32) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)  // they need address space
TEST_CASE("threads that cannot be made are an error, and those made have ended") {
  // The address space is the limit that counts for root as well.
  rlimit before;
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%ld", &pages) == 1);
  std::fclose(file);
  rlimit tight = before;
  tight.rlim_cur =
      static_cast<rlim_t>(pages) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (rlim_t{300} << 20);
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  const auto pool = ThreadPool::Create({1024, nullptr, nullptr});
  setrlimit(RLIMIT_AS, &before);
  REQUIRE(pool.status().code() == absl::StatusCode::kResourceExhausted);
  REQUIRE(Message(pool.status()).starts_with("threads: cannot start thread "));
  REQUIRE(RunOnce(*MakePool(2), 100, 1));
}
#endif

// --- the host's parallel_for
// ---------------------------------------------------------------------------

struct Host {
  enum Kind { kSerial, kBackwards, kThreads, kHalf } kind;
  std::atomic<int> calls{0};
  size_t most_tasks = 0;

  static void ParallelFor(void* user, size_t n, void (*task)(void*, size_t), void* context) {
    Host& self = *static_cast<Host*>(user);
    ++self.calls;
    self.most_tasks = std::max(self.most_tasks, n);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < n; ++i) {
      switch (self.kind) {
        case kSerial:
          task(context, i);
          break;
        case kBackwards:
          task(context, n - 1 - i);
          break;
        case kThreads:
          threads.emplace_back([=] { task(context, i); });
          break;
        case kHalf:
          break;
      }
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_CASE("the host's threads run every item once, however the host orders the tasks") {
  for (Host::Kind kind : {Host::kSerial, Host::kBackwards, Host::kThreads, Host::kHalf}) {
    Host host{kind};
    auto pool = ThreadPool::Create({3, Host::ParallelFor, &host});
    REQUIRE(pool.ok());
    REQUIRE((*pool)->size() == 3);
    CheckShapes(**pool);
    REQUIRE(host.calls > 0);
    REQUIRE(host.most_tasks == 3);
  }
}

TEST_CASE("the host's threads get the default float mode and keep their own") {
  Host host{Host::kSerial};
  auto pool = ThreadPool::Create({2, Host::ParallelFor, &host});
  std::atomic<bool> wrong{false};
  std::fesetround(FE_UPWARD);
  const bool upward = !RoundsToNearest();
  (*pool)->Run(
      2, 1,
      [](void* context, size_t, size_t, size_t) {
        if (!RoundsToNearest()) *static_cast<std::atomic<bool>*>(context) = true;
      },
      &wrong);
  const int after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  REQUIRE(upward);
  REQUIRE_FALSE(wrong);
  REQUIRE(after == FE_UPWARD);
}

void Busy(void* context, size_t, size_t, size_t) {
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::microseconds(*static_cast<const int*>(context));
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST_CASE("latency of a job of 16 pieces", "[.latency]") {
  for (int32_t threads : {1, 2}) {
    for (int piece_us : {0, 1, 5}) {
      const auto pool = MakePool(threads);
      std::vector<double> us;
      for (int i = 0; i < 10000; ++i) {
        const auto start = std::chrono::steady_clock::now();
        pool->Run(16, 1, piece_us == 0 ? Nothing : Busy, &piece_us);
        const std::chrono::duration<double, std::micro> taken =
            std::chrono::steady_clock::now() - start;
        us.push_back(taken.count());
      }
      std::sort(us.begin(), us.end());
      WARN(threads << " threads, pieces of " << piece_us << " us: median " << us[us.size() / 2]
                   << " us, 99th percentile " << us[us.size() * 99 / 100] << " us");
    }
  }
}

}  // namespace
}  // namespace krafla

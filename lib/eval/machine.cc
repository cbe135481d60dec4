// See machine.h. Each rate is the best of several passes: what a machine can do, not what it did
// while it was busy with something else.
#include "lib/eval/machine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "lib/runtime/pages.h"
#include "lib/runtime/thread_pool.h"

namespace krafla {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPasses = 8;
constexpr size_t kPieceBytes = size_t{1} << 20;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Anonymous memory in the largest pages the system gives: the ceiling of what a read can reach. (In
// small pages the same loads reach half of it on a virtual machine.)
class LargePages {
 public:
  static StatusOr<std::unique_ptr<LargePages>> Map(uint64_t bytes) {
    void* data = MapPages(bytes, /*large=*/true);
    if (data == nullptr) return MemoryError("measure: cannot map {} bytes", bytes);
    return std::unique_ptr<LargePages>(new LargePages(data, bytes));
  }
  ~LargePages() { UnmapPages(data_, bytes_); }
  LargePages(const LargePages&) = delete;
  LargePages& operator=(const LargePages&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  LargePages(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  uint64_t bytes_;
};

StatusOr<std::unique_ptr<ThreadPool>> PoolOf(int32_t threads) {
  ThreadOptions options;
  options.threads = threads;
  return ThreadPool::Create(options);
}

// Bytes a second over all pieces, each read by one thread.
double BestReadRate(ThreadPool& pool, const std::vector<std::span<const std::byte>>& pieces) {
  struct Job {
    const std::vector<std::span<const std::byte>>& pieces;
    std::atomic<uint64_t> sum{0};
  } job{pieces};
  uint64_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const Clock::time_point start = Clock::now();
    pool.Run(
        pieces.size(), 1,
        [](void* context, size_t begin, size_t end, size_t) {
          Job& j = *static_cast<Job*>(context);
          for (size_t i = begin; i < end; ++i) {
            j.sum += kernels::measure_read(j.pieces[i].data(), j.pieces[i].size());
          }
        },
        &job);
    best = std::max(best, static_cast<double>(bytes) / SecondsSince(start));
  }
  return best;
}

}  // namespace

StatusOr<double> MeasureReadBandwidth(int32_t threads, uint64_t bytes) {
  if (bytes < (uint64_t{1} << 20))
    return ArgumentError("measure: bytes: got {}, want 1 MiB or more", bytes);
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, PoolOf(threads));
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<LargePages> pages, LargePages::Map(bytes));
  std::memset(pages->data(), 1, bytes);
  // One stream a thread.
  const size_t piece = bytes / pool->size();
  std::vector<std::span<const std::byte>> pieces;
  for (size_t i = 0; i < pool->size(); ++i) pieces.push_back({pages->data() + i * piece, piece});
  return BestReadRate(*pool, pieces);
}

StatusOr<double> MeasureWeightsRead(const Model& model, int32_t threads) {
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, PoolOf(threads));
  std::vector<std::span<const std::byte>> pieces;
  for (size_t i = 0; i < model.weights().file().tensors().size(); ++i) {
    std::span<const std::byte> rest = model.weights().bytes(i);
    for (; !rest.empty(); rest = rest.subspan(pieces.back().size())) {
      pieces.push_back(rest.first(std::min(rest.size(), kPieceBytes)));
    }
  }
  return BestReadRate(*pool, pieces);
}

StatusOr<double> MeasureInt8Peak(int32_t threads) {
  KRAFLA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> pool, PoolOf(threads));
  double best = 0;
  // Doubles the work until a pass is long against the clock and the threads' start.
  for (uint64_t iterations = 1 << 12; iterations < (uint64_t{1} << 40); iterations *= 2) {
    struct Job {
      uint64_t iterations;
      std::atomic<uint64_t> macs{0};
    } job{iterations};
    const Clock::time_point start = Clock::now();
    pool->Run(
        pool->size(), 1,
        [](void* context, size_t begin, size_t end, size_t) {
          Job& j = *static_cast<Job*>(context);
          for (size_t i = begin; i < end; ++i) j.macs += kernels::measure_int8(j.iterations);
        },
        &job);
    const double seconds = SecondsSince(start);
    best = std::max(best, static_cast<double>(job.macs.load()) / seconds);
    if (seconds > 0.1) break;
  }
  return best;
}

}  // namespace krafla

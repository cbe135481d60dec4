// Threads that each read one request at a time: the fallback where there is no io_uring, and what
// reads through the page cache.
#include <condition_variable>
#include <mutex>
#include <vector>

#include "lib/runtime/native_thread.h"
#include "lib/weights/residency/block_reader.h"
#include "lib/weights/residency/block_requests.h"

namespace krafla {
namespace {

constexpr size_t kThreads = 8;

class PoolReader final : public BlockReader {
 public:
  PoolReader(NativeFile file, uint64_t base, bool direct, BlockListener& listener)
      : file_(std::move(file)), base_(base), direct_(direct), listener_(listener) {}
  ~PoolReader() override;
  Status Start();
  ReaderKind kind() const override { return direct_ ? ReaderKind::kPool : ReaderKind::kPageCache; }
  void Read(const BlockRead& block) override;
  void Hurry(uint64_t tag) override;

 private:
  void Work();

  const NativeFile file_;
  const uint64_t base_;
  const bool direct_;
  BlockListener& listener_;
  std::mutex mutex_;
  std::condition_variable wake_;
  BlockRequests requests_;
  bool stop_ = false;
  std::vector<NativeThread> threads_;
};

Status PoolReader::Start() {
  if (direct_) {  // a file system may open the file so and then refuse each read
    alignas(kDirectAlignment) std::byte sector[kDirectAlignment];
    const StatusOr<size_t> got = file_.ReadSome(0, sector, sizeof(sector));
    if (!got.ok()) return UnsupportedError("past the page cache: {}", Message(got.status()));
  }
  threads_.reserve(kThreads);  // a thread that runs must have its place
  while (threads_.size() < kThreads) {
    StatusOr<NativeThread> thread = NativeThread::Start(
        kReaderStackBytes, "krafla-read",
        [](void* reader) { static_cast<PoolReader*>(reader)->Work(); }, this);
    // Fewer threads read as well.
    if (!thread.ok()) return threads_.empty() ? thread.status() : OkStatus();
    threads_.push_back(*std::move(thread));
  }
  return OkStatus();
}

PoolReader::~PoolReader() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (NativeThread& thread : threads_) thread.Join();
}

void PoolReader::Hurry(uint64_t tag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.Hurry(tag);
}

void PoolReader::Read(const BlockRead& block) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.Add(block);
  }
  wake_.notify_all();
}

void PoolReader::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stop_ || !requests_.empty(); });
    BlockRequest request;
    if (stop_ || !requests_.Take(&request)) return;
    BlockInFlight& block = *request.block;
    const bool failed = !block.status.ok();
    const bool first = !std::exchange(block.begun, true);
    lock.unlock();
    // The kernel begins with all of the block while this thread waits for its first part.
    if (first && !direct_) file_.WillNeed(base_ + block.read.offset, block.read.bytes);
    const Status status = failed ? OkStatus() : ReadRequest(file_, base_, request, direct_);
    lock.lock();
    if (!BlockRequests::End(block, status)) continue;
    lock.unlock();
    listener_.OnBlock(block.read.tag, block.status);
    lock.lock();
  }
}

}  // namespace

StatusOr<std::unique_ptr<BlockReader>> OpenPoolReader(const NativeFile& file, uint64_t base,
                                                      bool direct, BlockListener& listener) {
  KRAFLA_ASSIGN_OR_RETURN(NativeFile own, file.Reopen(direct));
  auto reader = std::make_unique<PoolReader>(std::move(own), base, direct, listener);
  KRAFLA_RETURN_IF_ERROR(reader->Start());
  return reader;
}

}  // namespace krafla

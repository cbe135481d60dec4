// One thread feeds the ring and reaps it; an eventfd, itself a request of the ring, tells it of new
// blocks. Where a policy forbids the ring later on (a host that locks itself in once its models are
// open), the thread reads what comes by itself. The file is registered. The memory is not: the
// kernel would keep its pages when the owner gives them back under pressure, and later reads would
// go to pages that nobody sees.
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "lib/runtime/native_thread.h"
#include "lib/weights/residency/block_reader.h"
#include "lib/weights/residency/block_requests.h"

namespace krafla {
namespace {

// Without a ring nothing tells of new blocks.
constexpr std::chrono::milliseconds kLookWithoutRing{1};

class UringReader final : public BlockReader {
 public:
  UringReader(NativeFile file, uint64_t base, BlockListener& listener)
      : file_(std::move(file)), base_(base), listener_(listener) {}
  ~UringReader() override;
  Status Start();
  ReaderKind kind() const override { return ReaderKind::kUring; }
  void Read(const BlockRead& block) override;
  void Hurry(uint64_t tag) override;

 private:
  struct Flight {
    BlockRequest request;
    bool used = false;
    uint64_t number = 0;  // among all that were prepared
  };

  Status Probe();
  void Work();
  bool Fill();  // false: told to stop and nothing is in flight
  void Submit(Flight& flight);
  io_uring_sqe* Prepare();  // null: the queue is full, as it only gets without a ring
  void ReapAll();
  void WorkWithoutRing();
  void Reap(const io_uring_cqe& cqe);
  void EndRequest(Flight& flight, const Status& status);
  void ArmWake();
  void Wake() const;

  const NativeFile file_;
  const uint64_t base_;
  BlockListener& listener_;
  io_uring ring_{};
  bool has_ring_ = false;
  bool registered_ = false;
  int wake_fd_ = -1;
  uint64_t wake_count_ = 0;  // what the ring reads of wake_fd_
  bool wake_armed_ = false;
  std::array<Flight, kReadDepth> flights_;
  size_t in_flight_ = 0;
  uint64_t prepared_ = 0;
  std::mutex mutex_;
  BlockRequests requests_;  // under mutex_
  bool stop_ = false;       // under mutex_
  NativeThread thread_;
  bool runs_ = false;
};

Status UringReader::Start() {
  wake_fd_ = eventfd(0, EFD_CLOEXEC);
  if (wake_fd_ < 0) return UnsupportedError("io_uring: eventfd: {}", std::strerror(errno));
  if (const int error = io_uring_queue_init(kReadDepth + 1, &ring_, 0); error < 0) {
    return UnsupportedError("io_uring: the system refuses it: {}", std::strerror(-error));
  }
  has_ring_ = true;
  const int fd = file_.descriptor();
  registered_ = io_uring_register_files(&ring_, &fd, 1) == 0;
  KRAFLA_RETURN_IF_ERROR(Probe());
  KRAFLA_ASSIGN_OR_RETURN(
      thread_, NativeThread::Start(
                   kReaderStackBytes, "krafla-read",
                   [](void* reader) { static_cast<UringReader*>(reader)->Work(); }, this));
  runs_ = true;
  return OkStatus();
}

// Policies that let a ring be made may still forbid its use, and old kernels have rings without
// reads: the first sector tells.
Status UringReader::Probe() {
  alignas(kDirectAlignment) std::byte sector[kDirectAlignment];
  io_uring_sqe* sqe = Prepare();
  io_uring_prep_read(sqe, file_.descriptor(), sector, sizeof(sector), 0);
  io_uring_cqe* cqe = nullptr;
  int error = io_uring_submit(&ring_);
  while (error >= 0 && cqe == nullptr) {
    if (const int waited = io_uring_wait_cqe(&ring_, &cqe); waited != -EINTR) error = waited;
  }
  if (error < 0) {
    return UnsupportedError("io_uring: the system refuses it: {}", std::strerror(-error));
  }
  const int got = cqe->res;
  io_uring_cqe_seen(&ring_, cqe);
  if (got < 0) return UnsupportedError("io_uring: a read: {}", std::strerror(-got));
  return OkStatus();
}

UringReader::~UringReader() {
  if (runs_) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    Wake();
    thread_.Join();
  }
  if (has_ring_) io_uring_queue_exit(&ring_);
  if (wake_fd_ >= 0) close(wake_fd_);
}

void UringReader::Wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof(one));
}

void UringReader::Read(const BlockRead& block) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    requests_.Add(block);
  }
  Wake();
}

void UringReader::Hurry(uint64_t tag) {
  const std::lock_guard<std::mutex> lock(mutex_);
  requests_.Hurry(tag);
}

io_uring_sqe* UringReader::Prepare() {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  prepared_ += sqe != nullptr;
  return sqe;
}

void UringReader::ArmWake() {
  io_uring_sqe* sqe = Prepare();
  io_uring_prep_read(sqe, wake_fd_, &wake_count_, sizeof(wake_count_), 0);
  io_uring_sqe_set_data(sqe, nullptr);
  wake_armed_ = true;
}

void UringReader::Submit(Flight& flight) {
  io_uring_sqe* sqe = Prepare();
  flight.number = sqe == nullptr ? UINT64_MAX : prepared_;
  if (sqe == nullptr) return;
  const BlockRequest& request = flight.request;
  const auto bytes = static_cast<unsigned>(BytesToAsk(request.bytes, true));
  io_uring_prep_read(sqe, registered_ ? 0 : file_.descriptor(), request.out, bytes,
                     base_ + request.offset);
  if (registered_) sqe->flags |= IOSQE_FIXED_FILE;
  io_uring_sqe_set_data(sqe, &flight);
}

bool UringReader::Fill() {
  if (!wake_armed_) ArmWake();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stop_) return in_flight_ > 0;
  for (Flight& flight : flights_) {
    if (flight.used) continue;
    if (!requests_.Take(&flight.request)) break;
    flight.used = true;
    ++in_flight_;
    Submit(flight);
  }
  return true;
}

void UringReader::EndRequest(Flight& flight, const Status& status) {
  const std::shared_ptr<BlockInFlight> block = std::move(flight.request.block);
  flight.used = false;
  --in_flight_;
  if (BlockRequests::End(*block, status)) listener_.OnBlock(block->read.tag, block->status);
}

void UringReader::Reap(const io_uring_cqe& cqe) {
  auto* flight = static_cast<Flight*>(io_uring_cqe_get_data(&cqe));
  if (flight == nullptr) {
    wake_armed_ = false;
    return;
  }
  BlockRequest& request = flight->request;
  if (cqe.res == -EINTR || cqe.res == -EAGAIN) return Submit(*flight);
  if (cqe.res < 0) {
    return EndRequest(*flight, ErrorOf([&] {
      return IoError("{}: reading at {}: {}", file_.name(), request.offset,
                     std::strerror(-cqe.res));
    }));
  }
  const auto got = static_cast<uint64_t>(cqe.res);
  if (got >= request.bytes) return EndRequest(*flight, OkStatus());
  request.offset += got;
  request.out += got;
  request.bytes -= got;
  if (got == 0 || got % kDirectAlignment != 0) {
    return EndRequest(*flight, ErrorOf([&] { return EndsEarly(file_.name(), request.offset); }));
  }
  Submit(*flight);
}

void UringReader::ReapAll() {
  io_uring_cqe* cqe = nullptr;
  // A copy: the entry is the kernel's again before the listener runs.
  while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
    const io_uring_cqe seen = *cqe;
    io_uring_cqe_seen(&ring_, cqe);
    Reap(seen);
  }
}

void UringReader::Work() {
  while (Fill()) {
    const int error = io_uring_submit_and_wait(&ring_, 1);
    if (error < 0 && error != -EINTR && error != -EAGAIN && error != -EBUSY) {
      return WorkWithoutRing();
    }
    ReapAll();
  }
}

// What the kernel has taken it still fills, so that memory stays with its request until it says so.
void UringReader::WorkWithoutRing() {
  for (;;) {
    const uint64_t taken = prepared_ - io_uring_sq_ready(&ring_);
    for (Flight& flight : flights_) {
      if (!flight.used || flight.number <= taken) continue;
      EndRequest(flight, ReadRequest(file_, base_, flight.request, /*direct=*/true));
    }
    ReapAll();
    bool any = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stop_ && in_flight_ == 0) return;
      for (Flight& flight : flights_) {
        if (stop_ || flight.used) continue;
        if (!requests_.Take(&flight.request)) break;
        flight.used = true;
        ++in_flight_;
        flight.number = UINT64_MAX;
        any = true;
      }
    }
    if (!any) std::this_thread::sleep_for(kLookWithoutRing);
  }
}

}  // namespace

StatusOr<std::unique_ptr<BlockReader>> OpenUringReader(const NativeFile& file, uint64_t base,
                                                       BlockListener& listener) {
  KRAFLA_ASSIGN_OR_RETURN(NativeFile own, file.Reopen(/*direct=*/true));
  auto reader = std::make_unique<UringReader>(std::move(own), base, listener);
  KRAFLA_RETURN_IF_ERROR(reader->Start());
  return reader;
}

}  // namespace krafla

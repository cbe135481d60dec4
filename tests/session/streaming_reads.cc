// The real readers over a system that misbehaves: the linker puts the functions below in front of
// pread and of the ring's submission (--wrap), and seccomp forbids system calls to single threads.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "tests/session/streaming.h"

#ifdef KRAFLA_TEST_URING
#include <liburing.h>
#endif

namespace krafla::test {
namespace {

// What becomes of the n-th read (from 0, of all threads) at `offset`: 0 or more: at most so many
// bytes; less: this error.
class Disk {
 public:
  virtual ~Disk() = default;
  virtual int64_t OnRead(uint64_t n, uint64_t offset, uint64_t bytes) = 0;
};
std::atomic<Disk*> g_disk{nullptr};
std::atomic<uint64_t> g_reads{0};
std::atomic<int> g_ring_error{0};  // of the next submissions

int64_t Ask(uint64_t offset, uint64_t bytes) {
  Disk* disk = g_disk.load();
  return disk == nullptr ? static_cast<int64_t>(bytes)
                         : disk->OnRead(g_reads.fetch_add(1), offset, bytes);
}

}  // namespace
}  // namespace krafla::test

using krafla::test::Ask;

extern "C" ssize_t __real_pread64(int fd, void* out, size_t n, off64_t offset);
extern "C" ssize_t __wrap_pread64(int fd, void* out, size_t n, off64_t offset) {
  const int64_t most = Ask(static_cast<uint64_t>(offset), n);
  if (most >= 0)
    return __real_pread64(fd, out, std::min<size_t>(n, static_cast<size_t>(most)), offset);
  errno = static_cast<int>(-most);
  return -1;
}

#ifdef KRAFLA_TEST_URING
extern "C" int __real_io_uring_submit_and_wait(io_uring* ring, unsigned n);
extern "C" int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned n) {
  if (const int error = krafla::test::g_ring_error.load(); error != 0) return error;
  const int result = __real_io_uring_submit_and_wait(ring, n);
  // The reads that have ended: what was not said to have arrived will be asked for again.
  unsigned head = 0;
  io_uring_cqe* cqe = nullptr;
  io_uring_for_each_cqe(ring, head, cqe) {
    if (cqe->user_data == 0 || cqe->res <= 0) continue;
    const int64_t most = Ask(0, static_cast<uint64_t>(cqe->res));
    cqe->res = static_cast<int>(std::min<int64_t>(cqe->res, most));
  }
  return result;
}
#endif

namespace krafla::test {
namespace {

class WithDisk {
 public:
  explicit WithDisk(Disk& disk) {
    g_reads.store(0);
    g_disk.store(&disk);
  }
  ~WithDisk() { g_disk.store(nullptr); }
  WithDisk(const WithDisk&) = delete;
  WithDisk& operator=(const WithDisk&) = delete;
};

template <typename Function>
class DiskOf final : public Disk {
 public:
  explicit DiskOf(Function function) : function_(std::move(function)) {}
  int64_t OnRead(uint64_t n, uint64_t offset, uint64_t bytes) override {
    return function_(n, offset, bytes);
  }

 private:
  Function function_;
};

// The model, and what it says when it is in memory.
struct Case {
  Case() : file("../trained/kjv-moe", Format::kQ8), ids(Ids(40, 3, 2048)) {
    const auto session = NewSession(file.Open(nullptr, 1), {});
    REQUIRE(session->Append(ids, {}).ok());
    want = Copy(session->logits());
    plan = file.Plan(2);
  }
  // Null: the system has no such reads.
  std::shared_ptr<const Model> Open(ReaderKind kind, int32_t threads = 2) const {
    ResidencyOptions options;
    options.budget = plan.least;
    options.reader = kind;
    options.watch = false;
    auto model = file.TryOpen(&options, threads);
    INFO(Message(model.status()));
    REQUIRE((model.ok() || model.status().code() == absl::StatusCode::kUnimplemented));
    return model.ok() ? *model : nullptr;
  }
  bool SameAfter(Session& session) const {
    return session.Append(ids, {}).ok() && SameBits(session.logits(), want);
  }

  StreamedFile file;
  std::vector<int32_t> ids;
  std::vector<float> want;
  ResidencyPlan plan;
};

TEST_CASE("reads that bring less than was asked for are continued") {
  const Case c;
  for (const ReaderKind kind : kReaders) {
    const auto model = c.Open(kind);
    if (model == nullptr) continue;
    const bool direct = kind != ReaderKind::kPageCache;
    DiskOf disk([&](uint64_t n, uint64_t, uint64_t bytes) -> int64_t {
      if (n % 3 == 2) return -EINTR;
      if (direct) return static_cast<int64_t>(std::min<uint64_t>(bytes, (n % 4 + 1) * 4096));
      return static_cast<int64_t>(std::min<uint64_t>(bytes, n % 977 + 1));
    });
    const WithDisk with(disk);
    INFO(ReaderName(kind));
    CHECK(c.SameAfter(*NewSession(model, {})));
    CHECK(g_reads.load() > (kind == ReaderKind::kUring ? 0 : model->residency()->info().misses));
    CHECK(model->residency()->info().errors == 0);
  }
}

TEST_CASE("a read error names expert and offset, and the session goes on when it is over") {
  const Case c;
  for (const ReaderKind kind : kReaders) {
    const auto model = c.Open(kind);
    if (model == nullptr) continue;
    INFO(ReaderName(kind));
    const auto session = NewSession(model, {});
    REQUIRE(session->Append({c.ids.data(), 1}, {}).ok());
    {
      DiskOf disk([](uint64_t n, uint64_t, uint64_t bytes) -> int64_t {
        return n % 5 == 3 ? -EIO : static_cast<int64_t>(bytes);
      });
      const WithDisk with(disk);
      const Status status = session->Append({c.ids.data() + 1, c.ids.size() - 1}, {});
      INFO(Message(status));
      CHECK(status.code() == absl::StatusCode::kUnavailable);
      const std::string_view text = Message(status);
      CHECK(text.find("layers.") != std::string_view::npos);
      CHECK(text.find("expert ") != std::string_view::npos);
      CHECK(text.find("bytes at ") != std::string_view::npos);
      CHECK(text.find("Input/output error") != std::string_view::npos);
      CHECK(session->length() == 1);
      CHECK(model->residency()->info().errors > 0);
    }
    REQUIRE(session->Append({c.ids.data() + 1, c.ids.size() - 1}, {}).ok());
    CHECK(SameBits(session->logits(), c.want));
  }
}

TEST_CASE("a disk that fails now and then never brings wrong bits") {
  const Case c;
  for (const ReaderKind kind : kReaders) {
    const auto model = c.Open(kind);
    if (model == nullptr) continue;
    INFO(ReaderName(kind));
    const auto session = NewSession(model, {});
    DiskOf disk([](uint64_t n, uint64_t, uint64_t bytes) -> int64_t {
      if (n % 61 == 7) return -EIO;
      if (n % 53 == 11) return 0;  // as if the file ended there
      if (n % 47 == 13) return static_cast<int64_t>(bytes / 2 / 4096 * 4096);
      return static_cast<int64_t>(bytes);
    });
    const WithDisk with(disk);
    size_t failures = 0;
    for (const int32_t id : c.ids) {
      while (!session->Append({&id, 1}, {}).ok()) REQUIRE(++failures < 1000);
    }
    CHECK(failures > 0);
    CHECK(SameBits(session->logits(), c.want));
  }
}

TEST_CASE("past the page cache an odd number of bytes in the middle is an error") {
  const Case c;
  for (const ReaderKind kind : {ReaderKind::kUring, ReaderKind::kPool}) {
    const auto model = c.Open(kind);
    if (model == nullptr) continue;
    DiskOf disk([](uint64_t, uint64_t, uint64_t bytes) {
      return static_cast<int64_t>(std::min<uint64_t>(bytes, 4096 + 512));
    });
    const WithDisk with(disk);
    const auto session = NewSession(model, {});
    const Status status = session->Append(c.ids, {});
    INFO(ReaderName(kind) << ": " << Message(status));
    CHECK(!status.ok());
    CHECK(session->length() == 0);
  }
}

// Runs work on a thread to which, and to whose threads, the kernel refuses the system call.
template <typename Work>
void Forbidding(long number, Work work) {
  std::thread([&] {
    sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog program{4, filter};
    const bool set = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
    work(set);
  }).join();
}

// Blocks of the size of an expert from a file of the host's choice, all over it.
void Measure(ReaderKind kind) {
  constexpr uint64_t kBlockBytes = uint64_t{2654208};  // of Qwen3-30B-A3B as q4
  constexpr size_t kAtOnce = 32;
  constexpr int64_t kBlocks = 3000;
  const char* path = std::getenv("KRAFLA_STREAM_FILE");
  REQUIRE(path != nullptr);
  auto file = NativeFile::Open(path, NativeFile::Use::kRead);
  REQUIRE(file.ok());
  class Counter final : public BlockListener {
   public:
    void OnBlock(uint64_t tag, const Status& status) override {
      const std::lock_guard<std::mutex> lock(mutex);
      failed += !status.ok();
      free.push_back(tag);
      changed.notify_one();
    }
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<uint64_t> free;
    size_t failed = 0;
  } counter;
  for (size_t i = 0; i < kAtOnce; ++i) counter.free.push_back(i);
  const size_t room = (kBlockBytes + 4095) / 4096 * 4096;
  const auto memory = std::make_unique<std::byte[]>((kAtOnce + 1) * room);
  std::byte* first = memory.get() + (4096 - reinterpret_cast<uintptr_t>(memory.get()) % 4096);
  auto reader = OpenBlockReader(kind, *file, 0, counter);
  REQUIRE(reader.ok());
  const uint64_t blocks = *file->Size() / room;
  const auto wait = [&](size_t n, std::unique_lock<std::mutex>& lock) {
    counter.changed.wait(lock, [&] { return counter.free.size() >= n; });
  };
  const auto start = std::chrono::steady_clock::now();
  uint64_t random = 1;
  for (int64_t i = 0; i < kBlocks; ++i) {
    std::unique_lock<std::mutex> lock(counter.mutex);
    wait(1, lock);
    const uint64_t slot = counter.free.back();
    counter.free.pop_back();
    lock.unlock();
    random = random * 6364136223846793005u + 1442695040888963407u;
    (*reader)->Read({(random >> 33) % blocks * room, first + slot * room, kBlockBytes, slot});
  }
  {
    std::unique_lock<std::mutex> lock(counter.mutex);
    wait(kAtOnce, lock);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(counter.failed == 0);
  WARN(ReaderName(kind) << ": " << static_cast<double>(kBlocks * kBlockBytes) / took.count() / 1e9
                        << " GB/s");
}

TEST_CASE("reading with uring", "[.measure]") { Measure(ReaderKind::kUring); }
TEST_CASE("reading with pool", "[.measure]") { Measure(ReaderKind::kPool); }

class Nobody final : public BlockListener {
 public:
  void OnBlock(uint64_t, const Status&) override {}
};

TEST_CASE("where io_uring is forbidden, threads read") {
  const Case c;
  const bool had_ring = c.Open(ReaderKind::kUring) != nullptr;
  for (const long number : {SYS_io_uring_setup, SYS_io_uring_enter}) {
    Status refused;
    ReaderKind kind = ReaderKind::kAuto;
    bool same = false;
    bool set = false;
    Forbidding(number, [&](bool done) {
      set = done;
      if (!set) return;
      Nobody nobody;
      const auto runtime = MakeRuntime(1);
      auto file = NativeFile::Open(c.file.path(), NativeFile::Use::kRead);
      if (!file.ok()) return;
      refused = OpenBlockReader(ReaderKind::kUring, *file, 0, nobody).status();
      auto opened = OpenFirstReader(ReaderKind::kUring, *file, 0, nobody, *runtime);
      if (opened.ok()) kind = (*opened)->kind();
      ResidencyOptions options;
      options.budget = c.plan.least;
      options.watch = false;
      auto model = c.file.TryOpen(&options, 2);
      auto session = model.ok() ? Session::Create(*model, {}) : model.status();
      same = session.ok() && c.SameAfter(**session);
    });
    if (!set) return;  // no seccomp here
    INFO(Message(refused));
    CHECK(refused.code() == absl::StatusCode::kUnimplemented);
    CHECK(Message(refused).find("io_uring") != std::string_view::npos);
    CHECK(kind != ReaderKind::kUring);
    if (had_ring) CHECK(kind == ReaderKind::kPool);
    CHECK(same);
  }
}

#ifdef KRAFLA_TEST_URING
TEST_CASE("a ring that is forbidden while it is used goes on without") {
  const Case c;
  const auto model = c.Open(ReaderKind::kUring);
  if (model == nullptr) return;
  const auto session = NewSession(model, {});
  REQUIRE(session->Append({c.ids.data(), 5}, {}).ok());
  g_ring_error.store(-EPERM);
  const Status status = session->Append({c.ids.data() + 5, c.ids.size() - 5}, {});
  g_ring_error.store(0);
  INFO(Message(status));
  REQUIRE(status.ok());
  CHECK(SameBits(session->logits(), c.want));
  CHECK(model->residency()->info().errors == 0);
}
#endif

}  // namespace
}  // namespace krafla::test

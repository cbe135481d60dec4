// The byte budget under races, refusal texts, failing and misbehaving allocators, and what a
// reserved but untouched buffer costs.
#include "lib/runtime/memory.h"

#if defined(_WIN32)
#include <windows.h>
// after windows.h
#include <psapi.h>
#else
#include <unistd.h>
#endif

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <thread>
#include <vector>

#include "lib/runtime/topology.h"
#include "tests/support/catch.h"

namespace krafla {
namespace {

// A host's allocator that counts, can fail and can give addresses off by some bytes.
struct CountingAllocator {
  std::atomic<int64_t> live{0};
  std::atomic<int> calls{0};
  int fail_at = -1;
  size_t shift = 0;

  HostAllocator Hooks() { return {Allocate, Release, this}; }
  static void* Allocate(void* user, size_t bytes, size_t alignment) {
    auto* self = static_cast<CountingAllocator*>(user);
    if (self->calls++ == self->fail_at) return nullptr;
    void* data = ::operator new (bytes + self->shift, std::align_val_t{alignment}, std::nothrow);
    if (data == nullptr) return nullptr;
    self->live += static_cast<int64_t>(bytes);
    return static_cast<char*>(data) + self->shift;
  }
  static void Release(void* user, void* data, size_t bytes, size_t alignment) {
    auto* self = static_cast<CountingAllocator*>(user);
    self->live -= static_cast<int64_t>(bytes);
    ::operator delete (static_cast<char*>(data) - self->shift, std::align_val_t{alignment});
  }
};

#if defined(_WIN32)
size_t ResidentBytes() {
  PROCESS_MEMORY_COUNTERS counters{};
  REQUIRE(GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters)) != 0);
  return counters.WorkingSetSize;
}
#else
size_t ResidentBytes() {
  long pages = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  REQUIRE(file != nullptr);
  REQUIRE(std::fscanf(file, "%*d %ld", &pages) == 1);
  std::fclose(file);
  return static_cast<size_t>(pages) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}
#endif

TEST_CASE("buffers of any size are aligned, writable and counted") {
  Memory memory({}, kNoBudget);
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (uint64_t bytes : {1u, 63u, 4096u, (1u << 20) - 1, 1u << 20, (9u << 20) + 5}) {
      auto buffer = memory.Allocate(bytes, MemoryKind::kWeights, "weights", alignment);
      REQUIRE(buffer.ok());
      REQUIRE(buffer->size() == bytes);
      REQUIRE(reinterpret_cast<uintptr_t>(buffer->data()) % alignment == 0);
      std::memset(buffer->data(), 0x5A, bytes);
      REQUIRE(memory.used(MemoryKind::kWeights) == bytes);
      REQUIRE(memory.used(MemoryKind::kKv) == 0);
    }
  }
  REQUIRE(memory.used() == 0);
  REQUIRE(memory.used(MemoryKind::kWeights) == 0);
  REQUIRE(memory.peak() == (9u << 20) + 5);
}

TEST_CASE("moving a buffer moves what it owns") {
  Memory memory({}, kNoBudget);
  Buffer a = *memory.Allocate(100, MemoryKind::kKv, "a");
  Buffer b = std::move(a);
  REQUIRE(a.data() == nullptr);
  REQUIRE(a.size() == 0);
  b = *memory.Allocate(50, MemoryKind::kState, "b");
  REQUIRE(memory.used() == 50);
  REQUIRE(memory.used(MemoryKind::kKv) == 0);
  b = Buffer();
  REQUIRE(memory.used() == 0);
}

TEST_CASE("odd requests") {
  Memory memory({}, kNoBudget);
  REQUIRE(memory.Allocate(0, MemoryKind::kKv, "nothing")->data() == nullptr);
  for (size_t alignment : {size_t{0}, size_t{3}, size_t{8192}}) {
    const Status status = memory.Allocate(8, MemoryKind::kKv, "KV", alignment).status();
    REQUIRE(status.code() == absl::StatusCode::kInvalidArgument);
  }
  for (uint64_t bytes : {UINT64_MAX, UINT64_MAX - 63, uint64_t{1} << 63, uint64_t{1} << 60}) {
    const Status status = memory.Allocate(bytes, MemoryKind::kKv, "KV").status();
    REQUIRE(status.code() == absl::StatusCode::kResourceExhausted);
    REQUIRE(Message(status).starts_with("memory: KV: need "));
    REQUIRE(memory.Check(bytes, "KV").code() == absl::StatusCode::kResourceExhausted);
  }
  // The system would grant it and end the process at its use.
  if (const uint64_t available = AvailableMemory(""); available < uint64_t{1} << 50) {
    const Status status = memory.Check(2 * available, "KV");
    REQUIRE(status.code() == absl::StatusCode::kResourceExhausted);
    REQUIRE(Message(status).find("available") != std::string_view::npos);
  }
  REQUIRE(memory.used() == 0);
  REQUIRE(memory.peak() == 0);
}

TEST_CASE("a refusal names the need, what is left and the budget") {
  Memory memory({}, 8388608);
  const auto held = memory.Allocate(7340032, MemoryKind::kWeights, "weights");
  REQUIRE(held.ok());
  const std::string_view text =
      "budget: KV of 4096 positions: need 94371840 bytes, 1048576 of 8388608 left";
  const Status status = memory.Allocate(94371840, MemoryKind::kKv, "KV of 4096 positions").status();
  REQUIRE(status.code() == absl::StatusCode::kPermissionDenied);
  REQUIRE(Message(status) == text);
  REQUIRE(Message(memory.Check(94371840, "KV of 4096 positions")) == text);
  REQUIRE(memory.Check(1048576, "KV").ok());
  REQUIRE(memory.Check(1048577, "KV").code() == absl::StatusCode::kPermissionDenied);
  REQUIRE(memory.Check(UINT64_MAX, "KV").code() == absl::StatusCode::kPermissionDenied);
  REQUIRE(memory.Allocate(1048576, MemoryKind::kKv, "KV").ok());
  REQUIRE(memory.used() == 7340032);
}

TEST_CASE("no race passes the budget") {
  CountingAllocator host;
  constexpr int64_t kBudget = 3000;  // refuses even where the threads run one after another
  Memory memory(host.Hooks(), kBudget);
  std::atomic<bool> exceeded{false};
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      unsigned seed = t + 1;
      std::vector<Buffer> held;
      for (int i = 0; i < 20000; ++i) {
        seed = seed * 1664525u + 1013904223u;
        auto buffer = memory.Allocate(1 + (seed >> 20) % 2000, MemoryKind::kSnapshot, "snapshot");
        if (buffer.ok()) {
          held.push_back(*std::move(buffer));
        } else {
          ++refused;
        }
        if (host.live > kBudget || memory.used() > kBudget) exceeded = true;
        if (!held.empty() && (held.size() > 3 || !buffer.ok())) held.pop_back();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE_FALSE(exceeded);
  REQUIRE(refused > 0);
  REQUIRE(memory.used() == 0);
  REQUIRE(memory.used(MemoryKind::kSnapshot) == 0);
  REQUIRE(memory.peak() <= kBudget);
  REQUIRE(host.live == 0);
}

TEST_CASE("an allocator that fails leaves nothing reserved") {
  CountingAllocator host;
  host.fail_at = 1;
  Memory memory(host.Hooks(), 1000);
  const auto first = memory.Allocate(400, MemoryKind::kKv, "KV");
  REQUIRE(first.ok());
  const Status status = memory.Allocate(600, MemoryKind::kKv, "KV page").status();
  REQUIRE(status.code() == absl::StatusCode::kResourceExhausted);
  REQUIRE(Message(status) == "memory: KV page: cannot allocate 600 bytes");
  REQUIRE(memory.used() == 400);
  REQUIRE(memory.peak() == 400);
  REQUIRE(memory.Allocate(600, MemoryKind::kKv, "KV page").ok());
}

TEST_CASE("an allocator that ignores the alignment is refused and gets its memory back") {
  CountingAllocator host;
  host.shift = 8;
  Memory memory(host.Hooks(), kNoBudget);
  REQUIRE(memory.Allocate(100, MemoryKind::kKv, "KV", 64).status().code() ==
          absl::StatusCode::kResourceExhausted);
  REQUIRE(host.calls == 1);
  REQUIRE(host.live == 0);
  REQUIRE(memory.used() == 0);
  REQUIRE(memory.Allocate(100, MemoryKind::kKv, "KV", 8).ok());
}

TEST_CASE("an untouched reserve costs no resident memory, one touched byte only a page") {
  Memory memory({}, kNoBudget);
  const size_t before = ResidentBytes();
  const Buffer kv = *memory.Allocate(uint64_t{256} << 20, MemoryKind::kKv, "KV");
  for (size_t i = 0; i < 8; ++i) kv.data()[i * (size_t{32} << 20)] = std::byte{1};
  REQUIRE(ResidentBytes() < before + (size_t{1} << 20));
}

}  // namespace
}  // namespace krafla

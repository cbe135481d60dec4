// Large buffers: weights, KV pages, scratch and snapshots all come from here, from the host's
// allocator if it gave one, counted by kind and held under the byte budget. Small objects use
// operator new.
#ifndef KRAFLA_LIB_RUNTIME_MEMORY_H_
#define KRAFLA_LIB_RUNTIME_MEMORY_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lib/base/status.h"

namespace krafla {

inline constexpr uint64_t kNoBudget = UINT64_MAX;

enum class MemoryKind : uint8_t { kWeights, kKv, kState, kScratch, kSnapshot };
inline constexpr size_t kMemoryKinds = 5;

// allocate returns null on failure; alignment is a power of two up to 4096. Both or neither are
// given; they may be called from several threads at once.
struct HostAllocator {
  void* (*allocate)(void* user, size_t bytes, size_t alignment) = nullptr;
  void (*release)(void* user, void* data, size_t bytes, size_t alignment) = nullptr;
  void* user = nullptr;
};

class Memory;

// Owned bytes; moving leaves an empty buffer. Contents start undefined (fresh system pages: not
// touched, so that a reserved but unused context costs no resident memory).
class Buffer {
 public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  friend class Memory;
  Memory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t alignment_ = 0;
  MemoryKind kind_ = MemoryKind::kScratch;
};

class Memory {
 public:
  Memory(const HostAllocator& allocator, uint64_t budget)
      : allocator_(allocator), budget_(budget) {}

  // `what` names the need in the refusal: "budget: KV of 4096 positions: need 94371840 bytes,
  // 1048576 of 8388608 left" (BudgetError), or MemoryError where the allocator fails or, without a
  // host allocator, a large need exceeds the memory that the system and its container have left.
  // Thread-safe; 0 bytes: empty.
  StatusOr<Buffer> Allocate(uint64_t bytes, MemoryKind kind, const char* what,
                            size_t alignment = 64);
  // Fails as Allocate would for so many bytes more in all; allocates nothing.
  Status Check(uint64_t bytes, const char* what) const;

  uint64_t used(MemoryKind kind) const;
  uint64_t used() const { return total_.load(std::memory_order_relaxed); }
  uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }
  uint64_t budget() const { return budget_; }

 private:
  friend class Buffer;
  void Release(Buffer& buffer) noexcept;
  Status Refusal(uint64_t bytes, uint64_t used, const char* what) const;
  static Status CheckSize(uint64_t bytes, const char* what);
  Status CheckSystem(uint64_t bytes, const char* what) const;
  HostAllocator allocator_;
  uint64_t budget_;
  std::atomic<uint64_t> total_{0};
  std::atomic<uint64_t> peak_{0};
  std::array<std::atomic<uint64_t>, kMemoryKinds> by_kind_{};
};

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_MEMORY_H_

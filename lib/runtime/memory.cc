// The budget is reserved before the allocator is asked, by compare-and-swap: no race of two callers
// can pass it, not even for a moment. The system's large buffers are anonymous mappings, whose
// pages cost nothing until they are touched and go back to the system when released.
#include "lib/runtime/memory.h"

#include <bit>
#include <utility>

#include "lib/runtime/pages.h"
#include "lib/runtime/topology.h"

namespace krafla {
namespace {

constexpr uint64_t kMappedBytes = uint64_t{1} << 20;  // from here on a mapping of its own
// Two huge pages: of less, alignment leaves none.
constexpr uint64_t kHugePageBytes = uint64_t{4} << 20;
constexpr size_t kMaxAlignment = 4096;

void* AllocateFromSystem(size_t bytes, size_t alignment, MemoryKind kind) {
  if (bytes < kMappedBytes) return AllocateAligned(bytes, alignment);
  // Weights are written whole at once. Never for KV and scratch: one touched position of a reserved
  // context would make 2 MiB resident.
  return MapPages(bytes, kind == MemoryKind::kWeights && bytes >= kHugePageBytes);
}

void ReleaseToSystem(void* data, size_t bytes) {
  if (bytes < kMappedBytes) {
    ReleaseAligned(data);
  } else {
    UnmapPages(data, bytes);
  }
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      alignment_(std::exchange(other.alignment_, 0)),
      kind_(other.kind_) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  if (memory_ != nullptr) memory_->Release(*this);
  memory_ = std::exchange(other.memory_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  size_ = std::exchange(other.size_, 0);
  alignment_ = std::exchange(other.alignment_, 0);
  kind_ = other.kind_;
  return *this;
}

Buffer::~Buffer() {
  if (memory_ != nullptr) memory_->Release(*this);
}

Status Memory::Refusal(uint64_t bytes, uint64_t used, const char* what) const {
  return BudgetError("budget: {}: need {} bytes, {} of {} left", what, bytes, budget_ - used,
                     budget_);
}

Status Memory::CheckSize(uint64_t bytes, const char* what) {
  if (bytes <= SIZE_MAX / 2) return OkStatus();
  return MemoryError("memory: {}: need {} bytes, more than an address space holds", what, bytes);
}

Status Memory::CheckSystem(uint64_t bytes, const char* what) const {
  // The kernel grants mappings beyond what it has and kills the process when they are used.
  if (allocator_.allocate != nullptr || bytes < kMappedBytes) return OkStatus();
  const uint64_t available = AvailableMemory("");
  if (bytes <= available) return OkStatus();
  return MemoryError("memory: {}: need {} bytes, {} available", what, bytes, available);
}

StatusOr<Buffer> Memory::Allocate(uint64_t bytes, MemoryKind kind, const char* what,
                                  size_t alignment) {
  if (!std::has_single_bit(alignment) || alignment > kMaxAlignment) {
    return ArgumentError("memory: {}: alignment {}, want a power of two up to {}", what, alignment,
                         kMaxAlignment);
  }
  if (bytes == 0) return Buffer();

  uint64_t used = total_.load(std::memory_order_relaxed);
  do {
    if (bytes > budget_ - used) return Refusal(bytes, used, what);
    KRAFLA_RETURN_IF_ERROR(CheckSize(bytes, what));
  } while (!total_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  // From here on the buffer gives the reservation back, whatever happens.
  Buffer buffer;
  buffer.memory_ = this;
  buffer.size_ = bytes;
  buffer.alignment_ = alignment;
  buffer.kind_ = kind;
  by_kind_[static_cast<size_t>(kind)].fetch_add(bytes, std::memory_order_relaxed);

  KRAFLA_RETURN_IF_ERROR(CheckSystem(bytes, what));
  void* data = allocator_.allocate != nullptr
                   ? allocator_.allocate(allocator_.user, bytes, alignment)
                   : AllocateFromSystem(bytes, alignment, kind);
  if (data == nullptr) return MemoryError("memory: {}: cannot allocate {} bytes", what, bytes);
  buffer.data_ = static_cast<std::byte*>(data);
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    return MemoryError("memory: {}: the allocator gave an address that is not aligned to {}", what,
                       alignment);
  }

  used += bytes;
  uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
  return buffer;
}

Status Memory::Check(uint64_t bytes, const char* what) const {
  const uint64_t used = total_.load(std::memory_order_relaxed);
  if (bytes > budget_ - used) return Refusal(bytes, used, what);
  KRAFLA_RETURN_IF_ERROR(CheckSize(bytes, what));
  return CheckSystem(bytes, what);
}

uint64_t Memory::used(MemoryKind kind) const {
  return by_kind_[static_cast<size_t>(kind)].load(std::memory_order_relaxed);
}

void Memory::Release(Buffer& buffer) noexcept {
  if (buffer.data_ != nullptr) {
    if (allocator_.allocate != nullptr) {
      allocator_.release(allocator_.user, buffer.data_, buffer.size_, buffer.alignment_);
    } else {
      ReleaseToSystem(buffer.data_, buffer.size_);
    }
  }
  by_kind_[static_cast<size_t>(buffer.kind_)].fetch_sub(buffer.size_, std::memory_order_relaxed);
  total_.fetch_sub(buffer.size_, std::memory_order_relaxed);
}

}  // namespace krafla

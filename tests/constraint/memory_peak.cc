// The replaced operator new and delete. A file of their own, so that the compiler does not see
// malloc and free behind a new or delete elsewhere. The size lies in front of each block.
#include "tests/constraint/memory_peak.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<size_t> live{0}, peak{0}, base{0};
constexpr size_t kHead = alignof(std::max_align_t);

void* Give(size_t size) {
  auto* data = static_cast<char*>(std::malloc(size + kHead));
  if (data == nullptr) return nullptr;
  *reinterpret_cast<size_t*>(data) = size;
  const size_t now = live += size;
  if (now > peak) peak = now;
  return data + kHead;
}

void Take(void* data) {
  if (data == nullptr) return;
  char* block = static_cast<char*>(data) - kHead;
  live -= *reinterpret_cast<size_t*>(block);
  std::free(block);
}

}  // namespace

void* operator new(size_t size) {
  if (void* data = Give(size)) return data;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Give(size); }
void operator delete(void* data) noexcept { Take(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { Take(data); }
void operator delete(void* data, size_t) noexcept { Take(data); }

namespace krafla::test {

void StartMemoryPeak() {
  base = live.load();
  peak = live.load();
}
size_t MemoryPeak() { return peak - base; }

}  // namespace krafla::test

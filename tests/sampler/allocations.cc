// The replaced operator new and delete. A file of their own, so that the compiler does not see
// malloc and free behind a new or delete elsewhere and warn of a mismatch.
#include "tests/sampler/allocations.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> n_allocations{0};
}  // namespace

void* operator new(size_t size) {
  ++n_allocations;
  if (void* p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++n_allocations;
  return std::malloc(size ? size : 1);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace krafla {

long AllocationCount() { return n_allocations; }

}  // namespace krafla

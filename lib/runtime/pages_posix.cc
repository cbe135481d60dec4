// See pages.h.
#include <sys/mman.h>

#include <cstdlib>

#include "lib/runtime/pages.h"

namespace krafla {

void* MapPages(size_t bytes, bool large) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  if (large) madvise(pages, bytes, MADV_HUGEPAGE);
#else
  (void)large;
#endif
  return pages;
}

void UnmapPages(void* pages, size_t bytes) { munmap(pages, bytes); }

void* AllocateAligned(size_t bytes, size_t alignment) {
  void* data = nullptr;
  const size_t wanted = alignment < sizeof(void*) ? sizeof(void*) : alignment;
  return posix_memalign(&data, wanted, bytes) == 0 ? data : nullptr;
}

void ReleaseAligned(void* data) { std::free(data); }

}  // namespace krafla

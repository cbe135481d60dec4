// See pages.h. Large pages need a privilege on Windows that users do not have, so nothing asks for
// them. Committed pages count against what the system can back at once, touched or not, but memory
// is taken when they are touched.
#include <malloc.h>
#include <windows.h>

#include "lib/runtime/pages.h"

namespace krafla {

void* MapPages(size_t bytes, bool) {
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void UnmapPages(void* pages, size_t) { VirtualFree(pages, 0, MEM_RELEASE); }

void* AllocateAligned(size_t bytes, size_t alignment) { return _aligned_malloc(bytes, alignment); }

void ReleaseAligned(void* data) { _aligned_free(data); }

}  // namespace krafla

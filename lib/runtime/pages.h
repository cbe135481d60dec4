// Whole pages of the system's memory: they cost nothing until they are touched, and go back when
// they are released.
#ifndef KRAFLA_LIB_RUNTIME_PAGES_H_
#define KRAFLA_LIB_RUNTIME_PAGES_H_

#include <cstddef>

namespace krafla {

// Null where there are none. large: in the largest pages that the system gives unasked.
void* MapPages(size_t bytes, bool large);
void UnmapPages(void* pages, size_t bytes);

// Less than pages: the C library's. alignment is a power of two; null on failure.
void* AllocateAligned(size_t bytes, size_t alignment);
void ReleaseAligned(void* data);

}  // namespace krafla

#endif  // KRAFLA_LIB_RUNTIME_PAGES_H_

// What this process holds of the system, to find leaks: bytes of malloc (resident memory would be
// no measure: which arena a new thread gets, and what it keeps back, differs from run to run), and
// mappings of files with open files (on Windows: handles).
#ifndef KRAFLA_TESTS_CAPI_PROCESS_USE_H_
#define KRAFLA_TESTS_CAPI_PROCESS_USE_H_

#include <malloc.h>

#include <cstddef>

#if defined(_WIN32)

#include <windows.h>

namespace krafla::test {

inline size_t BytesInUse() {
  size_t bytes = 0;
  _HEAPINFO entry{};
  while (_heapwalk(&entry) == _HEAPOK) {
    if (entry._useflag == _USEDENTRY) bytes += entry._size;
  }
  return bytes;
}

inline size_t MappingsAndFiles() {
  DWORD n = 0;
  GetProcessHandleCount(GetCurrentProcess(), &n);
  return n;
}

}  // namespace krafla::test

#else

#include <filesystem>
#include <fstream>
#include <string>

namespace krafla::test {

inline size_t BytesInUse() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

inline size_t MappingsAndFiles() {
  size_t n = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find('/') != std::string::npos) ++n;  // of files: those of malloc and stacks vary
  }
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    n += file.path().empty() ? 0 : 1;
  }
  return n;
}

}  // namespace krafla::test

#endif

#endif  // KRAFLA_TESTS_CAPI_PROCESS_USE_H_

// The launcher's own path and its successor, on Linux. Without /proc (an empty chroot) the kernel
// still tells the name that was executed.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "tools/launch/system.h"

namespace krafla::launch {

const char* const kProgramSuffix = "";

bool OwnPath(char* path, size_t size) {
  const ssize_t length = readlink("/proc/self/exe", path, size);
  if (length > 0 && static_cast<size_t>(length) < size) {
    path[length] = 0;
    return true;
  }
  const char* executed = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  char resolved[PATH_MAX];
  if (executed == nullptr || realpath(executed, resolved) == nullptr) return false;
  if (strlen(resolved) >= size) return false;
  strcpy(path, resolved);  // NOLINT: it was measured
  return true;
}

bool IsProgram(const char* path) { return access(path, X_OK) == 0; }

const char* Become(const char* path, char** argv) {
  execv(path, argv);
  return strerror(errno);
}

}  // namespace krafla::launch

// See work_file.h.
#include "lib/calibrate/work_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace krafla {

StatusOr<std::unique_ptr<WorkFile>> WorkFile::Take(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return IoError("{}: {}", path, std::strerror(errno));
  struct stat info {};
  void* data = MAP_FAILED;
  if (fstat(fd, &info) == 0) {
    data =
        mmap(nullptr, static_cast<size_t>(info.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  close(fd);
  if (data == MAP_FAILED) return IoError("{}: cannot be mapped: {}", path, std::strerror(error));
  std::unique_ptr<WorkFile> file(
      new WorkFile(static_cast<std::byte*>(data), static_cast<size_t>(info.st_size)));
  if (unlink(path.c_str()) != 0) return IoError("{}: {}", path, std::strerror(errno));
  return file;
}

WorkFile::~WorkFile() { munmap(data_, size_); }

}  // namespace krafla

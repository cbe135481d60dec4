// POSIX: O_EXCL so that the temporary is ours, fsync before rename so that the name never points at
// missing data after a power cut, fsync of the folder so that the rename itself lasts.
#include "lib/file/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace krafla {
namespace {

std::string FolderOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, std::max<size_t>(slash, 1)));
}

// Best effort: some file systems refuse to sync a folder, and the file itself is safe already.
void SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0) return;
  fsync(fd);
  close(fd);
}

}  // namespace

OutputFile::OutputFile(std::string_view path)
    : path_(path),
      folder_(FolderOf(path)),
      temporary_(FormatText("{}.partial-{}", path, getpid())) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(std::string_view path) {
  if (path.empty() || path.find('\0') != std::string_view::npos) {
    return ArgumentError("output: not a path");
  }
  std::unique_ptr<OutputFile> file(new OutputFile(path));
  struct stat info;
  if (stat(file->path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return IoError("{}: exists and is not a regular file", path);
  }
  unlink(file->temporary_.c_str());  // left by a killed process of the same id
  do {
    file->fd_ = open(file->temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file->fd_ < 0 && errno == EINTR);
  if (file->fd_ < 0) {
    return IoError("{}: cannot be created: {}", file->temporary_, strerror(errno));
  }
  return file;
}

Status OutputFile::WriteAt(uint64_t offset, const void* data, size_t n) {
  if (fd_ < 0) return StateError("{}: already complete", path_);
  const auto* from = static_cast<const char*>(data);
  while (n > 0) {
    const ssize_t done =
        pwrite(fd_, from, std::min<size_t>(n, size_t{1} << 30), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return IoError("{}: writing at {}: {}", temporary_, offset, strerror(errno));
    from += done;
    offset += static_cast<uint64_t>(done);
    n -= static_cast<size_t>(done);
  }
  return OkStatus();
}

Status OutputFile::SetSize(uint64_t bytes) {
  if (fd_ < 0) return StateError("{}: already complete", path_);
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) {
    return IoError("{}: size {}: {}", temporary_, bytes, strerror(errno));
  }
  return OkStatus();
}

Status OutputFile::Commit() {
  if (fd_ < 0) return StateError("{}: already complete", path_);
  if (fsync(fd_) != 0) return IoError("{}: fsync: {}", temporary_, strerror(errno));
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return IoError("{}: renaming to {}: {}", temporary_, path_, strerror(errno));
  }
  close(std::exchange(fd_, -1));
  SyncFolder(folder_);
  return OkStatus();
}

StatusOr<uint64_t> FreeDiskBytes(std::string_view path) {
  const std::string folder = FolderOf(path);
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFoundError("{}: no such folder", folder);
    return IoError("{}: {}", folder, strerror(errno));
  }
  return uint64_t{info.f_bavail} * info.f_frsize;
}

bool SameFile(const std::string& a, const std::string& b) {
  struct stat info_a;
  struct stat info_b;
  return stat(a.c_str(), &info_a) == 0 && stat(b.c_str(), &info_b) == 0 &&
         info_a.st_dev == info_b.st_dev && info_a.st_ino == info_b.st_ino;
}

}  // namespace krafla

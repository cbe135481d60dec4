// POSIX: O_EXCL, or a lock, so that the temporary is ours; fsync before rename so that the name
// never points at missing data after a power cut, fsync of the folder so that the rename itself
// lasts.
#include "lib/file/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
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

OutputFile::OutputFile(std::string_view path, std::string temporary)
    : path_(path), folder_(FolderOf(path)), temporary_(std::move(temporary)) {}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  if (!keep_) unlink(temporary_.c_str());  // first: the lock goes with the descriptor
  close(fd_);
}

Status OutputFile::CheckOutput() const {
  if (path_.empty() || path_.find('\0') != std::string::npos) {
    return ArgumentError("output: not a path");
  }
  struct stat info;
  if (stat(path_.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return IoError("{}: exists and is not a regular file", path_);
  }
  return OkStatus();
}

StatusOr<std::unique_ptr<OutputFile>> OutputFile::Create(std::string_view path) {
  std::unique_ptr<OutputFile> file(
      new OutputFile(path, FormatText("{}.partial-{}", path, getpid())));
  KRAFLA_RETURN_IF_ERROR(file->CheckOutput());
  unlink(file->temporary_.c_str());  // left by a killed process of the same id
  do {
    file->fd_ = open(file->temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (file->fd_ < 0 && errno == EINTR);
  if (file->fd_ < 0) {
    return IoError("{}: cannot be created: {}", file->temporary_, strerror(errno));
  }
  return file;
}

StatusOr<std::unique_ptr<OutputFile>> OutputFile::OpenPartial(std::string_view path) {
  const std::string name = PartialName(path);
  for (int i = 0; i < 100; i++) {
    std::unique_ptr<OutputFile> file(new OutputFile(path, name));
    file->Keep();  // until it is known to be ours
    KRAFLA_RETURN_IF_ERROR(file->CheckOutput());
    do {
      file->fd_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    } while (file->fd_ < 0 && errno == EINTR);
    struct stat info;
    if (file->fd_ < 0 || fstat(file->fd_, &info) != 0) {
      return IoError("{}: cannot be opened: {}", name, strerror(errno));
    }
    if (!S_ISREG(info.st_mode) || info.st_nlink > 1) {
      return IoError("{}: exists and is not a regular file of one name", name);
    }
    // A file system without locks (ENOLCK, EOPNOTSUPP) does without this check.
    if (flock(file->fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      return IoError("{}: another process is writing it", name);
    }
    struct stat named;
    if (stat(name.c_str(), &named) == 0 && named.st_ino == info.st_ino) {
      file->keep_ = false;
      return file;
    }
    // Its owner finished or removed it between the opening and the lock: the name is free now.
  }
  return IoError("{}: another process keeps replacing it", name);
}

Status OutputFile::WriteAt(uint64_t offset, const void* data, size_t n) const {
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

Status OutputFile::SyncData() const {
  if (fdatasync(fd_) == 0) return OkStatus();
  return IoError("{}: fdatasync: {}", temporary_, strerror(errno));
}

Status OutputFile::ReadAt(uint64_t offset, void* out, size_t n) const {
  auto* to = static_cast<char*>(out);
  while (n > 0) {
    const ssize_t got = pread(fd_, to, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return IoError("{}: reading at {}: {}", temporary_, offset,
                     got == 0 ? "it ends there" : strerror(errno));
    }
    to += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<size_t>(got);
  }
  return OkStatus();
}

StatusOr<uint64_t> OutputFile::Size() const {
  struct stat info;
  if (fstat(fd_, &info) != 0) return IoError("{}: {}", temporary_, strerror(errno));
  return static_cast<uint64_t>(info.st_size);
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

std::string PartialName(std::string_view path) { return FormatText("{}.partial", path); }

FileStamp StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return {};
  return {static_cast<uint64_t>(info.st_size),
          static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
              static_cast<uint64_t>(info.st_mtim.tv_nsec),
          info.st_ino, static_cast<uint64_t>(info.st_blocks) * 512};
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

// POSIX. Only regular files are opened for reading: a pipe or a device has no size and could block.
// A mapping keeps the kernel's default read-ahead: asking for the whole file at once would evict a
// file larger than memory, and a sequential hint drops pages that the next token needs. Of a new
// file, O_EXCL or a lock says that it is ours; the folder is synced behind a rename, so that this
// lasts too.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "lib/base/system_error.h"
#include "lib/file/native_file.h"

namespace krafla {
namespace {

constexpr size_t kMostAtOnce = size_t{1} << 30;  // Linux moves 2 GiB in a call at most

int OpenAgain(const std::string& path, int flags, mode_t mode = 0666) {
  int fd;
  do {
    fd = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

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

Status OpenToRead(const std::string& path, int* fd) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  *fd = OpenAgain(path, O_RDONLY | O_NONBLOCK);
  if (*fd >= 0) return OkStatus();
  if (errno == ENOENT || errno == ENOTDIR) return NotFoundError("{}: no such file", path);
  return IoError("{}: cannot be opened: {}", path, LastSystemError());
}

Status CheckRegular(int fd, const std::string& path) {
  struct stat info;
  if (fstat(fd, &info) != 0) return IoError("{}: {}", path, LastSystemError());
  if (!S_ISREG(info.st_mode)) return IoError("{}: not a regular file", path);
  return OkStatus();
}

// Whether the file is still the one that has the name: its owner may have finished or removed it
// between our opening and the lock.
StatusOr<bool> LockPartial(int fd, const std::string& path) {
  struct stat info;
  if (fd < 0 || fstat(fd, &info) != 0) {
    return IoError("{}: cannot be opened: {}", path, LastSystemError());
  }
  if (!S_ISREG(info.st_mode) || info.st_nlink > 1) {
    return IoError("{}: exists and is not a regular file of one name", path);
  }
  // A file system without locks (ENOLCK, EOPNOTSUPP) does without this check.
  if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return IoError("{}: another process is writing it", path);
  }
  struct stat named;
  return stat(path.c_str(), &named) == 0 && named.st_ino == info.st_ino;
}

Status MapError(const std::string& name, size_t size) {
  if (sizeof(void*) < 8 && errno == ENOMEM) {
    return UnsupportedError("{}: {} bytes do not fit this {}-bit process; load it by reading", name,
                            size, 8 * sizeof(void*));
  }
  const bool memory = errno == ENOMEM;
  const std::string reason = LastSystemError();
  if (memory) return MemoryError("{}: {} bytes cannot be mapped: {}", name, size, reason);
  return IoError("{}: {} bytes cannot be mapped: {}", name, size, reason);
}

}  // namespace

Mapping::~Mapping() {
  if (base_ != nullptr) munmap(base_, size_);
}

StatusOr<NativeFile> NativeFile::Open(std::string_view path, Use use) {
  NativeFile file;
  file.name_ = path;
  if (path.find('\0') != std::string_view::npos) return ArgumentError("path: has a zero byte");
  int fd = -1;
  if (use == Use::kRead) {
    KRAFLA_RETURN_IF_ERROR(OpenToRead(file.name_, &fd));
    file.handle_ = fd;
    KRAFLA_RETURN_IF_ERROR(CheckRegular(fd, file.name_));
    return file;
  }
  if (use == Use::kPartial) {
    for (int i = 0; i < 100; ++i) {
      file.Close();
      file.handle_ = OpenAgain(file.name_, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK);
      KRAFLA_ASSIGN_OR_RETURN(const bool ours,
                              LockPartial(static_cast<int>(file.handle_), file.name_));
      if (ours) return file;
    }
    return IoError("{}: another process keeps replacing it", path);
  }
  const bool fresh = use == Use::kNew || use == Use::kPrivate;
  if (fresh) unlink(file.name_.c_str());
  file.handle_ = OpenAgain(file.name_, fresh ? O_RDWR | O_CREAT | O_EXCL : O_RDWR,
                           use == Use::kPrivate ? 0600 : 0666);
  if (!file.is_open()) {
    return IoError("{}: cannot be {}: {}", path, fresh ? "created" : "opened", LastSystemError());
  }
  if (!fresh && unlink(file.name_.c_str()) != 0) return IoError("{}: {}", path, LastSystemError());
  return file;
}

StatusOr<NativeFile> NativeFile::Duplicate(int32_t handle) {
  NativeFile file;
  file.name_ = FormatText("file handle {}", handle);
  file.handle_ = fcntl(handle, F_DUPFD_CLOEXEC, 0);
  if (!file.is_open()) return IoError("{}: {}", file.name_, LastSystemError());
  KRAFLA_RETURN_IF_ERROR(CheckRegular(static_cast<int>(file.handle_), file.name_));
  return file;
}

// Through the descriptor, so that it is this file even where another one has its name by now.
StatusOr<NativeFile> NativeFile::Reopen(bool direct) const {
  const std::string path = FormatText("/proc/self/fd/{}", handle_);
  NativeFile file;
  file.name_ = name_;
#ifdef O_DIRECT
  file.handle_ = OpenAgain(path, direct ? O_RDONLY | O_DIRECT : O_RDONLY);
#else
  if (!direct) file.handle_ = OpenAgain(path, O_RDONLY);
#endif
  if (file.is_open()) return file;
  if (direct)
    return UnsupportedError("{}: no reads past the page cache: {}", name_, LastSystemError());
  file.handle_ = fcntl(static_cast<int>(handle_), F_DUPFD_CLOEXEC, 0);
  if (!file.is_open()) return IoError("{}: {}", name_, LastSystemError());
  return file;
}

void NativeFile::WillNeed(uint64_t offset, uint64_t n) const {
#ifdef POSIX_FADV_WILLNEED
  posix_fadvise(static_cast<int>(handle_), static_cast<off_t>(offset), static_cast<off_t>(n),
                POSIX_FADV_WILLNEED);
#endif
}

void NativeFile::Close() {
  if (is_open()) close(static_cast<int>(std::exchange(handle_, kNone)));
}

void NativeFile::Remove() {
  if (name_.empty()) return;
  unlink(name_.c_str());  // first: the lock goes with the descriptor
  Close();
}

Status NativeFile::MoveTo(const std::string& path) {
  const std::string folder = FolderOf(path);  // before: nothing may fail once the rename is done
  if (rename(name_.c_str(), path.c_str()) != 0) {
    return IoError("{}: renaming to {}: {}", name_, path, LastSystemError());
  }
  name_.clear();
  Close();
  SyncFolder(folder);
  return OkStatus();
}

StatusOr<uint64_t> NativeFile::Size() const {
  struct stat info;
  if (fstat(static_cast<int>(handle_), &info) != 0) {
    return IoError("{}: {}", name_, LastSystemError());
  }
  return static_cast<uint64_t>(info.st_size);
}

Status NativeFile::SetSize(uint64_t bytes) const {
  if (ftruncate(static_cast<int>(handle_), static_cast<off_t>(bytes)) == 0) return OkStatus();
  return IoError("{}: size {}: {}", name_, bytes, LastSystemError());
}

StatusOr<size_t> NativeFile::ReadSome(uint64_t offset, void* out, size_t n) const {
  for (;;) {
    const ssize_t got =
        pread(static_cast<int>(handle_), out, std::min(n, kMostAtOnce), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return IoError("{}: reading at {}: {}", name_, offset, LastSystemError());
  }
}

StatusOr<size_t> NativeFile::WriteSome(uint64_t offset, const void* data, size_t n) const {
  for (;;) {
    const ssize_t done = pwrite(static_cast<int>(handle_), data, std::min(n, kMostAtOnce),
                                static_cast<off_t>(offset));
    if (done >= 0) return static_cast<size_t>(done);
    if (errno != EINTR) return IoError("{}: writing at {}: {}", name_, offset, LastSystemError());
  }
}

Status NativeFile::SyncData() const {
  if (fdatasync(static_cast<int>(handle_)) == 0) return OkStatus();
  return IoError("{}: fdatasync: {}", name_, LastSystemError());
}

Status NativeFile::Sync() const {
  if (fsync(static_cast<int>(handle_)) == 0) return OkStatus();
  return IoError("{}: fsync: {}", name_, LastSystemError());
}

// A mapping begins at a page; what lies before `offset` in it is not looked at.
StatusOr<Mapping> NativeFile::Map(uint64_t offset, size_t size, bool writable) const {
  const auto before = static_cast<size_t>(offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  void* base = mmap(nullptr, size + before, writable ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, static_cast<int>(handle_), static_cast<off_t>(offset - before));
  if (base == MAP_FAILED) return MapError(name_, size);
#ifdef MADV_HUGEPAGE
  // A hint: file systems with large folios then read the file in pages of 2 MiB, which halves the
  // time that a processor's page tables cost.
  madvise(base, size + before, MADV_HUGEPAGE);
#endif
  Mapping mapping;
  mapping.base_ = base;
  mapping.size_ = size + before;
  mapping.data_ = static_cast<std::byte*>(base) + before;
  return mapping;
}

bool IsOtherThanFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

int64_t ProcessId() { return getpid(); }

namespace {

FileStamp ToStamp(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_size),
          static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'000u +
              static_cast<uint64_t>(info.st_mtim.tv_nsec),
          info.st_ino, static_cast<uint64_t>(info.st_blocks) * 512};
}

}  // namespace

FileStamp StampOf(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? ToStamp(info) : FileStamp{};
}

FileStamp NativeFile::Stamp() const {
  struct stat info;
  return fstat(static_cast<int>(handle_), &info) == 0 ? ToStamp(info) : FileStamp{};
}

StatusOr<uint64_t> FreeDiskBytes(std::string_view path) {
  const std::string folder = FolderOf(path);
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFoundError("{}: no such folder", folder);
    return IoError("{}: {}", folder, LastSystemError());
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

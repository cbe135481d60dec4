// The four kinds of FileSource. Only regular files are opened: a pipe or a device has no size and
// could block. A mapping keeps the kernel's default read-ahead: asking for the whole file at once
// would evict a file larger than memory, and a sequential hint drops pages that the next token
// needs.
#include "lib/file/source.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

namespace krafla {
namespace {

Status CheckRange(const FileSource& source, uint64_t offset, uint64_t n) {
  if (offset <= source.size() && n <= source.size() - offset) return OkStatus();
  return FileError("{}: {} bytes at {} wanted, the file has {}", source.name(), n, offset,
                   source.size());
}

struct OpenFile {
  int fd = -1;
  uint64_t size = 0;
  uint64_t offset = 0;  // of the part that is the file
  OpenFile() = default;
  OpenFile(OpenFile&& other) noexcept
      : fd(std::exchange(other.fd, -1)), size(other.size), offset(other.offset) {}
  OpenFile& operator=(OpenFile&&) = delete;
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
};

StatusOr<OpenFile> OpenRegular(const std::string& path) {
  if (path.find('\0') != std::string::npos) return ArgumentError("path: has a zero byte");
  OpenFile file;
  do {
    // O_NONBLOCK: opening a pipe must not wait for a writer.
    file.fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (file.fd < 0 && errno == EINTR);
  if (file.fd < 0) {
    const int code = errno;
    if (code == ENOENT || code == ENOTDIR) return NotFoundError("{}: no such file", path);
    return IoError("{}: cannot be opened: {}", path, strerror(code));
  }
  struct stat info;
  if (fstat(file.fd, &info) != 0) return IoError("{}: {}", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return IoError("{}: not a regular file", path);
  file.size = static_cast<uint64_t>(info.st_size);
  return file;
}

class MemorySource final : public FileSource {
 public:
  MemorySource(const void* data, size_t size)
      : FileSource("memory"), data_(static_cast<const std::byte*>(data)), size_(size) {}
  uint64_t size() const override { return size_; }
  const std::byte* data() const override { return data_; }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    if (n != 0) std::memcpy(out, data_ + offset, n);
    return OkStatus();
  }

 private:
  const std::byte* data_;
  size_t size_;
};

class MappedSource final : public FileSource {
 public:
  MappedSource(std::string name, size_t size) : FileSource(std::move(name)), size_(size) {}
  ~MappedSource() override {
    if (mapping_ != nullptr) munmap(mapping_, mapped_);
  }
  MappedSource(const MappedSource&) = delete;
  MappedSource& operator=(const MappedSource&) = delete;
  // A mapping begins at a page; what lies before `offset` in it is not looked at.
  Status Map(int fd, uint64_t offset) {
    const auto before = static_cast<size_t>(offset % static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
    const size_t mapped = size_ + before;
    void* data =
        mmap(nullptr, mapped, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset - before));
    if (data == MAP_FAILED) {
      const int code = errno;
      if (sizeof(void*) < 8 && code == ENOMEM) {
        return UnsupportedError("{}: {} bytes do not fit this {}-bit process; load it by reading",
                                name(), size_, 8 * sizeof(void*));
      }
      if (code == ENOMEM) {
        return MemoryError("{}: {} bytes cannot be mapped: {}", name(), size_, strerror(code));
      }
      return IoError("{}: {} bytes cannot be mapped: {}", name(), size_, strerror(code));
    }
#ifdef MADV_HUGEPAGE
    // A hint: file systems with large folios then read the file in pages of 2 MiB, which halves the
    // time that a processor's page tables cost.
    madvise(data, mapped, MADV_HUGEPAGE);
#endif
    mapping_ = data;
    mapped_ = mapped;
    data_ = static_cast<const std::byte*>(data) + before;
    return OkStatus();
  }
  uint64_t size() const override { return size_; }
  const std::byte* data() const override { return data_; }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    if (n != 0) std::memcpy(out, data() + offset, n);
    return OkStatus();
  }

 private:
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  const std::byte* data_ = nullptr;
  size_t size_;
};

class ReadingSource final : public FileSource {
 public:
  ReadingSource(std::string name, OpenFile file)
      : FileSource(std::move(name)), file_(std::move(file)) {}
  uint64_t size() const override { return file_.size; }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    auto* to = static_cast<char*>(out);
    while (n > 0) {
      const size_t piece = std::min<size_t>(n, size_t{1} << 30);  // Linux reads 2 GiB at most
      const ssize_t got = pread(file_.fd, to, piece, static_cast<off_t>(file_.offset + offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return IoError("{}: reading at {}: {}", name(), offset, strerror(errno));
      if (got == 0) {
        return FileError("{}: ends at {} while open, had {} bytes", name(), offset, size());
      }
      to += got;
      offset += static_cast<uint64_t>(got);
      n -= static_cast<size_t>(got);
    }
    return OkStatus();
  }

 private:
  OpenFile file_;
};

class CallbackSource final : public FileSource {
 public:
  CallbackSource(ReadFunction read, void* user, uint64_t size)
      : FileSource("callback"), read_(read), user_(user), size_(size) {}
  uint64_t size() const override { return size_; }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    if (n == 0) return OkStatus();
    if (const int code = read_(user_, offset, out, n); code != 0) {
      return IoError("callback: reading {} bytes at {} returned {}", n, offset, code);
    }
    return OkStatus();
  }

 private:
  ReadFunction read_;
  void* user_;
  uint64_t size_;
};

StatusOr<std::unique_ptr<FileSource>> MapPart(std::string name, const OpenFile& file) {
  if (file.size == 0) return FileError("{}: is empty", name);
  if (file.size > std::numeric_limits<size_t>::max() / 2) {
    return UnsupportedError("{}: {} bytes cannot be mapped by a {}-bit build; load it by reading",
                            name, file.size, 8 * sizeof(void*));
  }
  auto source = std::make_unique<MappedSource>(std::move(name), static_cast<size_t>(file.size));
  KRAFLA_RETURN_IF_ERROR(source->Map(file.fd, file.offset));
  return source;
}

}  // namespace

StatusOr<std::unique_ptr<FileSource>> OpenMapped(std::string_view path) {
  std::string name(path);
  KRAFLA_ASSIGN_OR_RETURN(const OpenFile file, OpenRegular(name));
  return MapPart(std::move(name), file);
}

StatusOr<std::unique_ptr<FileSource>> OpenForReading(std::string_view path) {
  std::string name(path);
  KRAFLA_ASSIGN_OR_RETURN(OpenFile file, OpenRegular(name));
  return std::make_unique<ReadingSource>(std::move(name), std::move(file));
}

StatusOr<std::unique_ptr<FileSource>> OpenDescriptor(int fd, uint64_t offset, uint64_t size,
                                                     bool map) {
  std::string name = FormatText("file handle {}", fd);
  OpenFile file;
  file.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (file.fd < 0) return IoError("{}: {}", name, strerror(errno));
  struct stat info;
  if (fstat(file.fd, &info) != 0) return IoError("{}: {}", name, strerror(errno));
  if (!S_ISREG(info.st_mode)) return IoError("{}: not a regular file", name);
  const auto whole = static_cast<uint64_t>(info.st_size);
  if (offset > whole || size > whole - offset) {
    return FileError("{}: {} bytes at {} wanted, the file has {}", name, size, offset, whole);
  }
  file.offset = offset;
  file.size = size == 0 ? whole - offset : size;
  if (map) return MapPart(std::move(name), file);
  return std::make_unique<ReadingSource>(std::move(name), std::move(file));
}

std::unique_ptr<FileSource> OpenMemory(const void* data, size_t size) {
  return std::make_unique<MemorySource>(data, size);
}

std::unique_ptr<FileSource> OpenCallback(ReadFunction read, void* user, uint64_t size) {
  return std::make_unique<CallbackSource>(read, user, size);
}

}  // namespace krafla

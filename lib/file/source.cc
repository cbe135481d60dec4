// The four kinds of FileSource.
#include "lib/file/source.h"

#include <cstring>
#include <limits>
#include <utility>

#include "lib/file/native_file.h"

namespace krafla {
namespace {

Status CheckRange(const FileSource& source, uint64_t offset, uint64_t n) {
  if (offset <= source.size() && n <= source.size() - offset) return OkStatus();
  return FileError("{}: {} bytes at {} wanted, the file has {}", source.name(), n, offset,
                   source.size());
}

struct FilePart {
  NativeFile file;
  uint64_t offset = 0;
  uint64_t size = 0;
};

StatusOr<FilePart> OpenWhole(std::string_view path) {
  FilePart part;
  KRAFLA_ASSIGN_OR_RETURN(part.file, NativeFile::Open(path, NativeFile::Use::kRead));
  KRAFLA_ASSIGN_OR_RETURN(part.size, part.file.Size());
  return part;
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
  MappedSource(NativeFile file, Mapping mapping, size_t size)
      : FileSource(file.name()),
        file_(std::move(file)),
        stamp_(file_.Stamp()),
        mapping_(std::move(mapping)),
        size_(size) {}
  uint64_t size() const override { return size_; }
  const std::byte* data() const override { return mapping_.data(); }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    if (n != 0) std::memcpy(out, data() + offset, n);
    return OkStatus();
  }
  Status CheckUnchanged() const override {
    const FileStamp now = file_.Stamp();
    if (now.bytes == stamp_.bytes && now.modified_ns == stamp_.modified_ns) return OkStatus();
    return FileError("{}: the file was changed while it was open", name());
  }

 private:
  const NativeFile file_;
  const FileStamp stamp_;
  Mapping mapping_;
  size_t size_;
};

class ReadingSource final : public FileSource {
 public:
  explicit ReadingSource(FilePart part) : FileSource(part.file.name()), part_(std::move(part)) {}
  uint64_t size() const override { return part_.size; }
  const NativeFile* file(uint64_t* base) const override {
    *base = part_.offset;
    return &part_.file;
  }
  Status ReadAt(uint64_t offset, void* out, size_t n) const override {
    KRAFLA_RETURN_IF_ERROR(CheckRange(*this, offset, n));
    auto* to = static_cast<char*>(out);
    while (n > 0) {
      KRAFLA_ASSIGN_OR_RETURN(const size_t got, part_.file.ReadSome(part_.offset + offset, to, n));
      if (got == 0) {
        return FileError("{}: ends at {} while open, had {} bytes", name(), offset, size());
      }
      to += got;
      offset += got;
      n -= got;
    }
    return OkStatus();
  }

 private:
  FilePart part_;
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

StatusOr<std::unique_ptr<FileSource>> MapPart(FilePart part) {
  const std::string& name = part.file.name();
  if (part.size == 0) return FileError("{}: is empty", name);
  if (part.size > std::numeric_limits<size_t>::max() / 2) {
    return UnsupportedError("{}: {} bytes cannot be mapped by a {}-bit build; load it by reading",
                            name, part.size, 8 * sizeof(void*));
  }
  const auto size = static_cast<size_t>(part.size);
  KRAFLA_ASSIGN_OR_RETURN(Mapping mapping, part.file.Map(part.offset, size, /*writable=*/false));
  return std::make_unique<MappedSource>(std::move(part.file), std::move(mapping), size);
}

}  // namespace

StatusOr<std::unique_ptr<FileSource>> OpenMapped(std::string_view path) {
  KRAFLA_ASSIGN_OR_RETURN(FilePart part, OpenWhole(path));
  return MapPart(std::move(part));
}

StatusOr<std::unique_ptr<FileSource>> OpenForReading(std::string_view path) {
  KRAFLA_ASSIGN_OR_RETURN(FilePart part, OpenWhole(path));
  return std::make_unique<ReadingSource>(std::move(part));
}

StatusOr<std::unique_ptr<FileSource>> OpenDescriptor(int32_t handle, uint64_t offset, uint64_t size,
                                                     bool map) {
  FilePart part;
  KRAFLA_ASSIGN_OR_RETURN(part.file, NativeFile::Duplicate(handle));
  KRAFLA_ASSIGN_OR_RETURN(const uint64_t whole, part.file.Size());
  if (offset > whole || size > whole - offset) {
    return FileError("{}: {} bytes at {} wanted, the file has {}", part.file.name(), size, offset,
                     whole);
  }
  part.offset = offset;
  part.size = size == 0 ? whole - offset : size;
  if (map) return MapPart(std::move(part));
  return std::make_unique<ReadingSource>(std::move(part));
}

std::unique_ptr<FileSource> OpenMemory(const void* data, size_t size) {
  return std::make_unique<MemorySource>(data, size);
}

std::unique_ptr<FileSource> OpenCallback(ReadFunction read, void* user, uint64_t size) {
  return std::make_unique<CallbackSource>(read, user, size);
}

}  // namespace krafla

// What readers have in common, and which of them there is.
#include "lib/weights/residency/block_reader.h"

#include "lib/weights/residency/block_requests.h"

namespace krafla {

const char* ReaderName(ReaderKind kind) {
  switch (kind) {
    case ReaderKind::kUring:
      return "uring";
    case ReaderKind::kPool:
      return "pool";
    case ReaderKind::kPageCache:
      return "page cache";
    default:
      return "auto";
  }
}

Status EndsEarly(const std::string& name, uint64_t offset) {
  return FileError("{}: ends at {} while open", name, offset);
}

namespace {

Status ReadAll(const NativeFile& file, uint64_t base, const BlockRequest& request, bool direct) {
  for (uint64_t at = 0; at < request.bytes;) {
    const uint64_t want = BytesToAsk(request.bytes - at, direct);
    KRAFLA_ASSIGN_OR_RETURN(
        const size_t got,
        file.ReadSome(base + request.offset + at, request.out + at, static_cast<size_t>(want)));
    // Past the page cache a read that is not whole sectors has met the end.
    const bool cut = direct && got % kDirectAlignment != 0 && at + got < request.bytes;
    if (got == 0 || cut) return EndsEarly(file.name(), request.offset + at + got);
    at += got;
  }
  return OkStatus();
}

}  // namespace

Status ReadRequest(const NativeFile& file, uint64_t base, const BlockRequest& request,
                   bool direct) {
  return ErrorOf([&] { return ReadAll(file, base, request, direct); });
}

StatusOr<std::unique_ptr<BlockReader>> OpenBlockReader(ReaderKind kind, const NativeFile& file,
                                                       uint64_t base, BlockListener& listener) {
  if (kind == ReaderKind::kUring) return OpenUringReader(file, base, listener);
  return OpenPoolReader(file, base, kind == ReaderKind::kPool, listener);
}

StatusOr<std::unique_ptr<BlockReader>> OpenFirstReader(ReaderKind kind, const NativeFile& file,
                                                       uint64_t base, BlockListener& listener,
                                                       Runtime& runtime) {
  for (;;) {
    StatusOr<std::unique_ptr<BlockReader>> opened = OpenBlockReader(kind, file, base, listener);
    if (opened.ok() || kind == ReaderKind::kPageCache) return opened;
    runtime.Log(LogLevel::kInfo, Message(opened.status()));
    kind = kind == ReaderKind::kUring ? ReaderKind::kPool : ReaderKind::kPageCache;
  }
}

}  // namespace krafla

// Large reads that go on beside the work: blocks of a file into memory of the caller's, many at
// once. Three kinds: a ring of the kernel's (io_uring) or a pool of threads, both past the page
// cache, and a pool that reads through it.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_READER_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/status.h"
#include "lib/file/native_file.h"
#include "lib/runtime/runtime.h"

namespace krafla {

enum class ReaderKind : uint8_t { kAuto, kUring, kPool, kPageCache };
const char* ReaderName(ReaderKind kind);  // "uring"

// What past the page cache offsets, addresses and lengths are multiples of.
inline constexpr uint64_t kDirectAlignment = 4096;

// Reads `bytes` at `offset` into `out`. Past the page cache offset and out are multiples of
// kDirectAlignment, and out has room for bytes rounded up to it.
struct BlockRead {
  uint64_t offset = 0;
  std::byte* out = nullptr;
  uint64_t bytes = 0;
  uint64_t tag = 0;
  bool urgent = true;  // before all that is not
};

class BlockListener {
 public:
  virtual ~BlockListener() = default;
  // On a thread of the reader, once for each block: all its bytes are there, or why not.
  virtual void OnBlock(uint64_t tag, const Status& status) = 0;
};

class BlockReader {
 public:
  // Waits for what is being read; blocks that were not begun are dropped without a word.
  virtual ~BlockReader() = default;
  virtual ReaderKind kind() const = 0;
  // Both are thread-safe and do not wait. Blocks of one urgency begin in the order of the calls.
  virtual void Read(const BlockRead& block) = 0;
  virtual void Hurry(uint64_t tag) = 0;  // a block that was not urgent is now
};

// In flight at once, and the bytes of one request: more of either brings an NVMe disk nothing.
inline constexpr size_t kReadDepth = 32;
inline constexpr size_t kReaderStackBytes = size_t{256} << 10;
inline constexpr uint64_t kRequestBytes = uint64_t{512} << 10;

// The listener must outlive the reader; `base` is added to every offset. UnsupportedError where the
// kernel or its policy has no such ring, or the file system no reads past its cache.
StatusOr<std::unique_ptr<BlockReader>> OpenUringReader(const NativeFile& file, uint64_t base,
                                                       BlockListener& listener);
StatusOr<std::unique_ptr<BlockReader>> OpenPoolReader(const NativeFile& file, uint64_t base,
                                                      bool direct, BlockListener& listener);
// `kind` itself, or the first one from there on in the order of their declaration that there is.
StatusOr<std::unique_ptr<BlockReader>> OpenBlockReader(ReaderKind kind, const NativeFile& file,
                                                       uint64_t base, BlockListener& listener);
StatusOr<std::unique_ptr<BlockReader>> OpenFirstReader(ReaderKind kind, const NativeFile& file,
                                                       uint64_t base, BlockListener& listener,
                                                       Runtime& runtime);

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_READER_H_

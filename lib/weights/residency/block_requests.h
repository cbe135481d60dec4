// What readers have in common: blocks cut into requests, and a block's end once its last request
// has ended. Not thread-safe. Threads that read allocate nothing but messages, see ErrorOf.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <new>
#include <utility>

#include "lib/weights/residency/block_reader.h"

namespace krafla {

struct BlockInFlight {
  BlockRead read;
  uint64_t cut = 0;  // bytes that requests were made of
  bool begun = false;
  size_t open = 0;  // requests that have not ended
  Status status;    // the first error
};

struct BlockRequest {
  std::shared_ptr<BlockInFlight> block;
  uint64_t offset = 0;
  std::byte* out = nullptr;
  uint64_t bytes = 0;
};

class BlockRequests {
 public:
  bool empty() const { return urgent_.empty() && idle_.empty(); }

  // Where there is no memory (std::bad_alloc) Add and Hurry have changed nothing.
  void Add(const BlockRead& read) {
    auto block = std::make_shared<BlockInFlight>();
    block->read = read;
    block->open = static_cast<size_t>((read.bytes + kRequestBytes - 1) / kRequestBytes);
    (read.urgent ? urgent_ : idle_).push_back(std::move(block));
  }

  void Hurry(uint64_t tag) {
    const auto found = std::find_if(idle_.begin(), idle_.end(),
                                    [&](const auto& block) { return block->read.tag == tag; });
    if (found == idle_.end()) return;
    urgent_.push_back(*found);
    idle_.erase(found);
  }

  bool Take(BlockRequest* out) {
    std::deque<std::shared_ptr<BlockInFlight>>& waiting = urgent_.empty() ? idle_ : urgent_;
    if (waiting.empty()) return false;
    BlockInFlight& block = *waiting.front();
    const BlockRead& read = block.read;
    const uint64_t bytes = std::min(kRequestBytes, read.bytes - block.cut);
    *out = {waiting.front(), read.offset + block.cut, read.out + block.cut, bytes};
    block.cut += bytes;
    if (block.cut == read.bytes) waiting.pop_front();
    return true;
  }

  // True: that was the block's last one.
  static bool End(BlockInFlight& block, const Status& status) {
    if (!status.ok() && block.status.ok()) block.status = status;
    return --block.open == 0;
  }

 private:
  std::deque<std::shared_ptr<BlockInFlight>> urgent_;  // the first perhaps cut in part
  std::deque<std::shared_ptr<BlockInFlight>> idle_;
};

// What `make` returns, on a thread that has nobody to throw at: without memory a code alone.
template <typename Make>
Status ErrorOf(Make make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// Bytes that a request asks for: past the page cache whole sectors.
inline uint64_t BytesToAsk(uint64_t bytes, bool direct) {
  return direct ? (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment : bytes;
}

Status EndsEarly(const std::string& name, uint64_t offset);
// All bytes of a request, on the calling thread; throws nothing.
Status ReadRequest(const NativeFile& file, uint64_t base, const BlockRequest& request, bool direct);

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_

// What readers have in common: blocks cut into requests, and a block's end once its last request
// has ended. Not thread-safe.
#ifndef KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_
#define KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "lib/weights/residency/block_reader.h"

namespace krafla {

struct BlockInFlight {
  BlockRead read;
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

  void Add(const BlockRead& read) {
    auto block = std::make_shared<BlockInFlight>();
    block->read = read;
    block->open = static_cast<size_t>((read.bytes + kRequestBytes - 1) / kRequestBytes);
    std::deque<BlockRequest>& waiting = read.urgent ? urgent_ : idle_;
    for (uint64_t at = 0; at < read.bytes; at += kRequestBytes) {
      waiting.push_back(
          {block, read.offset + at, read.out + at, std::min(kRequestBytes, read.bytes - at)});
    }
  }

  void Hurry(uint64_t tag) {
    std::deque<BlockRequest> rest;
    for (BlockRequest& request : idle_) {
      (request.block->read.tag == tag ? urgent_ : rest).push_back(std::move(request));
    }
    idle_ = std::move(rest);
  }

  bool Take(BlockRequest* out) {
    std::deque<BlockRequest>& waiting = urgent_.empty() ? idle_ : urgent_;
    if (waiting.empty()) return false;
    *out = std::move(waiting.front());
    waiting.pop_front();
    return true;
  }

  // True: that was the block's last one.
  static bool End(BlockInFlight& block, const Status& status) {
    if (!status.ok() && block.status.ok()) block.status = status;
    return --block.open == 0;
  }

 private:
  std::deque<BlockRequest> urgent_;
  std::deque<BlockRequest> idle_;
};

// Bytes that a request asks for: past the page cache whole sectors.
inline uint64_t BytesToAsk(uint64_t bytes, bool direct) {
  return direct ? (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment : bytes;
}

Status EndsEarly(const std::string& name, uint64_t offset);
// All bytes of a request, on the calling thread.
Status ReadRequest(const NativeFile& file, uint64_t base, const BlockRequest& request, bool direct);

}  // namespace krafla

#endif  // KRAFLA_LIB_WEIGHTS_RESIDENCY_BLOCK_REQUESTS_H_

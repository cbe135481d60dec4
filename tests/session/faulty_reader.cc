// A reader whose reads end as a plan says.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "tests/session/streaming.h"

namespace krafla::test {
namespace {

class FaultyReader final : public BlockReader {
 public:
  FaultyReader(NativeFile file, uint64_t base, BlockListener& listener, FaultPlan plan,
               bool only_urgent)
      : file_(std::move(file)),
        base_(base),
        listener_(listener),
        plan_(std::move(plan)),
        only_urgent_(only_urgent) {
    thread_ = std::thread([this] { Work(); });
  }
  ~FaultyReader() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  ReaderKind kind() const override { return ReaderKind::kPool; }
  void Read(const BlockRead& block) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      blocks_.push_back(block);
    }
    wake_.notify_all();
  }
  void Hurry(uint64_t tag) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (BlockRead& block : blocks_) block.urgent |= block.tag == tag;
    }
    wake_.notify_all();
  }

 private:
  Status ReadOne(const BlockRead& block, Fault fault) const {
    if (fault == Fault::kError) return IoError("Input/output error");
    // What a failed read leaves behind must never be used.
    if (fault == Fault::kShort) {
      std::memset(block.out, 0x5A, static_cast<size_t>(block.bytes / 2));
      return FileError("ends at {} while open", block.offset + block.bytes / 2);
    }
    for (uint64_t at = 0; at < block.bytes;) {
      KRAFLA_ASSIGN_OR_RETURN(const size_t got,
                              file_.ReadSome(base_ + block.offset + at, block.out + at,
                                             static_cast<size_t>(block.bytes - at)));
      if (got == 0) return FileError("ends at {} while open", block.offset + at);
      at += got;
    }
    return OkStatus();
  }
  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (uint64_t n = 0;; ++n) {
      auto next = blocks_.end();
      wake_.wait(lock, [&] {
        next = std::find_if(blocks_.begin(), blocks_.end(),
                            [this](const BlockRead& b) { return b.urgent || !only_urgent_; });
        return stop_ || next != blocks_.end();
      });
      if (stop_) return;
      const BlockRead block = *next;
      blocks_.erase(next);
      lock.unlock();
      const Fault fault = plan_(n, block.offset);
      if (fault != Fault::kNever) listener_.OnBlock(block.tag, ReadOne(block, fault));
      lock.lock();
    }
  }

  const NativeFile file_;
  const uint64_t base_;
  BlockListener& listener_;
  const FaultPlan plan_;
  const bool only_urgent_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<BlockRead> blocks_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace

ReaderFactory Faulty(FaultPlan plan, bool only_urgent) {
  return [plan, only_urgent](const NativeFile& file, uint64_t base,
                             BlockListener& listener) -> StatusOr<std::unique_ptr<BlockReader>> {
    KRAFLA_ASSIGN_OR_RETURN(NativeFile own, file.Reopen(/*direct=*/false));
    return std::make_unique<FaultyReader>(std::move(own), base, listener, plan, only_urgent);
  };
}

}  // namespace krafla::test

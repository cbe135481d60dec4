// What happens on a thread of the library, for a host that polls: progress of a prompt, tokens, the
// end. Any thread may add and poll.
#ifndef KRAFLA_CAPI_EVENTS_H_
#define KRAFLA_CAPI_EVENTS_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "include/krafla/krafla.h"

namespace krafla::capi {

class EventQueue {
 public:
  void Token(const krafla_token& token);
  void Progress(int64_t done, int64_t total);
  // The last one; needs no memory. `end` has its numbers.
  void End(krafla_event end, std::string_view message) noexcept;
  // While the end has not been told, and it is not told meanwhile.
  template <typename Function>
  void IfNotEnded(Function function) {
    std::lock_guard lock(mutex_);
    if (!ended_) function();
  }

  // False: no event within wait_us (negative: waits for one). Pointers live until the next call.
  bool Poll(krafla_event* event, int64_t wait_us);

 private:
  struct Item {
    krafla_event event = KRAFLA_EVENT_INIT;
    std::string text;
    std::vector<int32_t> ids;     // of the model's best, then of the chain's
    std::vector<float> logprobs;  // theirs
  };
  void Push(Item item);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  Item current_;                          // what the last poll gave out
  krafla_event end_ = KRAFLA_EVENT_INIT;  // in place
  char message_[512] = {};
  bool ended_ = false;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_EVENTS_H_

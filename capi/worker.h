// A session's work on a thread of the library's own: what happens goes into a queue that the host
// polls, so that no foreign thread ever calls the host.
#ifndef KRAFLA_CAPI_WORKER_H_
#define KRAFLA_CAPI_WORKER_H_

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capi/handles.h"

namespace krafla::capi {

class Worker {
 public:
  // sampler may be null: the ids are read and nothing is generated.
  static StatusOr<std::shared_ptr<Worker>> Create(krafla_session* session,
                                                  std::span<const int32_t> ids,
                                                  krafla_sampler* sampler,
                                                  const krafla_generate_options& options);
  ~Worker();  // cancels and waits

  void Start();  // throws std::system_error where the system gives no thread
  // False: no event within wait_us (negative: waits for one). Polling the end frees the session.
  bool Poll(krafla_event* event, int64_t wait_us);

 private:
  struct Item {
    krafla_event event = KRAFLA_EVENT_INIT;
    std::string text;
    std::vector<int32_t> ids;     // of the model's best, then of the chain's
    std::vector<float> logprobs;  // theirs
  };
  explicit Worker(krafla_session* session) : session_(session) {}
  void Run() noexcept;
  Status Work();
  int OnToken(const krafla_token& token);
  void OnProgress(int64_t done, int64_t total);
  void Push(Item item);
  void End(int32_t code, std::string_view message) noexcept;

  krafla_session* session_;
  std::vector<int32_t> ids_;
  std::unique_ptr<Generation> generation_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  Item current_;                          // what the last poll gave out
  krafla_event end_ = KRAFLA_EVENT_INIT;  // in place: telling the end needs no memory
  char message_[512] = {};
  bool ended_ = false;   // end_ is valid
  bool polled_ = false;  // and was given out
  std::thread thread_;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_WORKER_H_

// A session's work on a thread of the library's own: what happens goes into a queue that the host
// polls, so that of the host's functions this thread calls a sampler's custom stage alone.
#ifndef KRAFLA_CAPI_WORKER_H_
#define KRAFLA_CAPI_WORKER_H_

#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include "capi/events.h"
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
  explicit Worker(krafla_session* session) : session_(session) {}
  void Run() noexcept;
  Status Work();
  void End(int32_t code, std::string_view message) noexcept;

  krafla_session* session_;
  std::vector<int32_t> ids_;
  std::unique_ptr<Generation> generation_;

  EventQueue events_;
  bool polled_ = false;  // the end was given out
  std::thread thread_;
};

}  // namespace krafla::capi

#endif  // KRAFLA_CAPI_WORKER_H_

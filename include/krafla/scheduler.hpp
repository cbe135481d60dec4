// krafla::Scheduler and krafla::Request: many requests in one pass. Part of krafla.hpp; C++17.
#ifndef KRAFLA_SCHEDULER_HPP_
#define KRAFLA_SCHEDULER_HPP_

#include <vector>

#include "krafla/krafla_batch.h"
#include "krafla/model.hpp"
#include "krafla/sampler.hpp"

namespace krafla {

// Freed, it is cancelled.
class Request {
 public:
  explicit Request(krafla_request* handle) : handle_(handle) {}
  // False: no event within wait_us (negative: waits for one). The last is KRAFLA_EVENT_END.
  bool Poll(krafla_event* event, std::int64_t wait_us = 0) {
    return Check(krafla_request_poll(handle_.get(), event, wait_us)) == KRAFLA_OK;
  }
  void Cancel() noexcept { krafla_request_cancel(handle_.get()); }  // from any thread
  krafla_request_info info() const {
    krafla_request_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_request_get_info(handle_.get(), &info));
    return info;
  }
  krafla_request* get() const noexcept { return handle_.get(); }

 private:
  internal::Handle<krafla_request> handle_;
};

class Scheduler {
 public:
  explicit Scheduler(const Model& model,
                     const krafla_scheduler_options& options = KRAFLA_SCHEDULER_OPTIONS_INIT) {
    krafla_scheduler* handle = nullptr;
    Check(krafla_scheduler_create(&handle, model.get(), &options));
    handle_.reset(handle);
  }

  // From any thread. sampler: copied; null: the ids are only read.
  Request Add(const std::vector<std::int32_t>& ids, const Sampler* sampler,
              const krafla_generate_options& generate = KRAFLA_GENERATE_OPTIONS_INIT,
              std::int32_t priority = 0) {
    krafla_request_options options = KRAFLA_REQUEST_OPTIONS_INIT;
    options.priority = priority;
    krafla_request* handle = nullptr;
    Check(krafla_scheduler_add(&handle, handle_.get(), ids.data(), ids.size(),
                               sampler == nullptr ? nullptr : sampler->get(), &generate, &options));
    return Request(handle);
  }
  // True when nothing is left to do.
  bool Step(std::int64_t max_us) {
    return Check(krafla_scheduler_step(handle_.get(), max_us)) == KRAFLA_OK;
  }
  krafla_scheduler_info info() const {
    krafla_scheduler_info info{};
    info.struct_size = sizeof(info);
    Check(krafla_scheduler_get_info(handle_.get(), &info));
    return info;
  }
  krafla_scheduler* get() const noexcept { return handle_.get(); }

 private:
  internal::Handle<krafla_scheduler> handle_;
};

}  // namespace krafla

#endif  // KRAFLA_SCHEDULER_HPP_

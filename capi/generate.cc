// krafla_session_generate and its forms in slices (krafla_session_step drives it) and on a thread
// of the library's own.
#include "capi/generation.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "capi/worker.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::Generation;
using capi::Guard;
using capi::SessionUse;

namespace {

// Whatever ends a generation, an exception included, the caller learns how many tokens were read.
class Outcome {
 public:
  Outcome(krafla_session* session, Generation* generation, krafla_generate_result* result)
      : session_(session), generation_(generation), result_(result) {}
  ~Outcome() {
    generation_->Abandon();
    session_->result = generation_->result();
    if (result_ != nullptr) capi::WriteInfo(session_->result, result_);
  }
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;

 private:
  krafla_session* session_;
  Generation* generation_;
  krafla_generate_result* result_;
};

}  // namespace

extern "C" {

int32_t krafla_session_generate(krafla_session* session, krafla_sampler* sampler,
                                const krafla_generate_options* options,
                                krafla_generate_result* result) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(sampler);
    krafla_generate_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_generate_options", &given));
    if (result != nullptr) {
      KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(result, "krafla_generate_result"));
      capi::WriteInfo(krafla_generate_result KRAFLA_GENERATE_RESULT_INIT, result);
    }
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    KRAFLA_ASSIGN_OR_RETURN(auto generation, Generation::Create(session, sampler, given));
    KRAFLA_RETURN_IF_ERROR(generation->CheckLogits());
    Outcome outcome(session, generation.get(), result);
    return generation->Step(-1).status();
  });
}

int32_t krafla_session_begin_generate(krafla_session* session, krafla_sampler* sampler,
                                      const krafla_generate_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_CHECK_POINTER(sampler);
    krafla_generate_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_generate_options", &given));
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    KRAFLA_ASSIGN_OR_RETURN(auto generation, Generation::Create(session, sampler, given));
    KRAFLA_RETURN_IF_ERROR(generation->CheckLogits());
    session->generation = std::move(generation);
    session->result = session->generation->result();
    return OkStatus();
  });
}

int32_t krafla_session_get_result(const krafla_session* session, krafla_generate_result* result) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(result, "krafla_generate_result"));
    Busy busy(session->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    capi::WriteInfo(session->result, result);
    return OkStatus();
  });
}

int32_t krafla_session_start(krafla_session* session, const int32_t* ids, size_t n,
                             krafla_sampler* sampler, const krafla_generate_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_ASSIGN_OR_RETURN(const auto span, capi::ReadIds(ids, n));
    krafla_generate_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_generate_options", &given));
    if (given.on_token != nullptr) {
      return ArgumentError(
          "krafla_generate_options: on_token: got a function, want NULL: events are polled");
    }
    SessionUse use(session);
    KRAFLA_RETURN_IF_ERROR(use.status());
    KRAFLA_ASSIGN_OR_RETURN(auto worker, capi::Worker::Create(session, span, sampler, given));
    std::lock_guard lock(session->worker_mutex);
    worker->Start();
    session->worker = std::move(worker);
    use.Keep();
    return OkStatus();
  });
}

int32_t krafla_session_poll(krafla_session* session, krafla_event* event, int64_t wait_us) {
  bool any = true;
  const int32_t code = Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(session);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(event, "krafla_event"));
    std::shared_ptr<capi::Worker> worker;
    {
      std::lock_guard lock(session->worker_mutex);
      worker = session->worker;
    }
    if (worker == nullptr) return StateError("poll: nothing was started");
    krafla_event next = KRAFLA_EVENT_INIT;
    any = worker->Poll(&next, wait_us);
    if (any) capi::WriteInfo(next, event);
    return OkStatus();
  });
  return code == KRAFLA_OK && !any ? KRAFLA_PAUSED : code;
}

}  // extern "C"

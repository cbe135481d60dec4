// krafla_scheduler_* and krafla_request_*: a generation for each request, whose tokens the
// scheduler of lib/batch reads.
#include "lib/batch/scheduler.h"

#include <condition_variable>
#include <thread>

#include "capi/events.h"
#include "capi/generation.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "capi/structs.h"

using namespace krafla;  // NOLINT: the definitions below are the global C functions
using capi::Busy;
using capi::EventQueue;
using capi::Generation;
using capi::Guard;

namespace {

constexpr uint64_t kDefaultCache = uint64_t{256} << 20;
constexpr uint64_t kDefaultFolder = uint64_t{4} << 30;
constexpr int64_t kSliceUs = 20000;  // of the own thread, which then looks whether it is to stop

class RequestTask final : public Task {
 public:
  // The generation is checked against the scheduler's empty session until there is one.
  static StatusOr<std::shared_ptr<RequestTask>> Create(std::shared_ptr<capi::SharedModel> shared,
                                                       const std::shared_ptr<Session>& root,
                                                       const krafla_sampler* sampler,
                                                       const krafla_generate_options& given,
                                                       size_t n_prompt) {
    if (given.on_token != nullptr || given.speculation != nullptr) {
      return ArgumentError("krafla_generate_options: got {}, want NULL in a scheduler",
                           given.on_token != nullptr ? "on_token" : "speculation");
    }
    auto task = std::make_shared<RequestTask>();
    task->n_prompt_ = static_cast<int64_t>(n_prompt);
    if (sampler == nullptr) return task;
    task->handle_.shared = std::move(shared);
    task->handle_.session = root;
    krafla_sampler own;
    own.shared = std::make_shared<capi::SharedSampler>();
    {
      Busy busy(sampler->shared->busy);
      KRAFLA_RETURN_IF_ERROR(busy.status());
      if (sampler->shared->sampler->has_custom()) {
        return UnsupportedError("sampler: got a custom stage, want none in a scheduler");
      }
      own.shared->sampler = sampler->shared->sampler->Clone();
    }
    krafla_generate_options options = given;
    options.user = task.get();
    options.on_token = [](void* user, const krafla_token* token) {
      static_cast<RequestTask*>(user)->events_.Token(*token);
      return 0;
    };
    KRAFLA_ASSIGN_OR_RETURN(task->generation_, Generation::Create(&task->handle_, &own, options));
    return task;
  }

  void Began(const std::shared_ptr<Session>& session) override {
    if (generation_ != nullptr) handle_.session = session;
    reused_ = session->length();
  }
  void Progress(int64_t done, int64_t total) override { events_.Progress(done, total); }
  StatusOr<std::span<const int32_t>> Next(const Session&, size_t most) override {
    if (generation_ == nullptr) return std::span<const int32_t>();
    return generation_->ChooseNext(most);
  }
  StatusOr<bool> Took() override {
    KRAFLA_ASSIGN_OR_RETURN(const bool ended, generation_->TakeRead());
    n_tokens_ = generation_->result().n_tokens;
    return ended;
  }
  void Ended(const Status& status) noexcept override {
    krafla_event end = KRAFLA_EVENT_INIT;
    end.code = capi::Report(status);
    if (generation_ != nullptr) {
      end.n_tokens = generation_->result().n_tokens;
      end.finish = status.ok() ? generation_->result().finish : 0;
    }
    generation_.reset();
    handle_.session.reset();  // it is the cache's now
    events_.End(end, status.ok() ? "" : krafla_error_message());
  }

  EventQueue& events() { return events_; }
  krafla_request_info info() const {
    krafla_request_info filled{};
    filled.prompt_tokens = n_prompt_;
    filled.reused = reused_;
    filled.n_tokens = n_tokens_;
    return filled;
  }

 private:
  krafla_session handle_;
  std::unique_ptr<Generation> generation_;  // null: the ids are only read
  EventQueue events_;
  int64_t n_prompt_ = 0;
  std::atomic<int64_t> reused_{-1};
  std::atomic<int64_t> n_tokens_{0};
};

}  // namespace

struct krafla_scheduler {
  ~krafla_scheduler() {
    if (!thread.joinable()) return;
    {
      std::lock_guard lock(mutex);
      stop = true;
    }
    changed.notify_all();
    thread.join();
  }
  void Run() noexcept {
    DefaultFloatMode mode;
    std::unique_lock lock(mutex);
    while (!stop) {
      changed.wait(lock, [this] { return stop || !scheduler->idle(); });
      lock.unlock();
      try {
        while (!stop && !scheduler->idle()) (void)scheduler->Step(kSliceUs);
      } catch (const std::bad_alloc&) {  // perhaps there is memory later
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      lock.lock();
    }
  }

  std::shared_ptr<capi::SharedModel> shared;
  std::unique_ptr<Scheduler> scheduler;
  std::atomic<bool> busy{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> stop{false};
  std::thread thread;
};

struct krafla_request {
  std::shared_ptr<RequestTask> task;
};

extern "C" {

int32_t krafla_scheduler_create(krafla_scheduler** out, const krafla_model* model,
                                const krafla_scheduler_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(model);
    krafla_scheduler_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_scheduler_options", &given));
    krafla_session_options session = KRAFLA_SESSION_OPTIONS_INIT;
    session.context = given.context;
    session.kv = given.kv;
    session.batch = given.rows;
    SchedulerOptions inner;
    KRAFLA_ASSIGN_OR_RETURN(inner.session, capi::ToSessionOptions(session));
    inner.parallel = given.parallel;
    inner.queue = given.queue;
    const bool set = given.has_cache_bytes != 0 || given.cache_bytes != 0;
    inner.cache_bytes = set ? given.cache_bytes : kDefaultCache;
    if (given.folder != nullptr) {
      KRAFLA_ASSIGN_OR_RETURN(inner.folder,
                              capi::ReadString(given.folder, given.folder_length, "folder"));
      inner.folder_bytes = given.folder_bytes != 0 ? given.folder_bytes : kDefaultFolder;
    }
    auto made = std::make_unique<krafla_scheduler>();
    made->shared = model->shared;
    KRAFLA_ASSIGN_OR_RETURN(made->scheduler, Scheduler::Create(model->shared->model, inner));
    if (given.own_thread != 0) {
      made->thread = std::thread([scheduler = made.get()] { scheduler->Run(); });
    }
    *out = made.release();
    return OkStatus();
  });
}

void krafla_scheduler_free(krafla_scheduler* scheduler) { delete scheduler; }

int32_t krafla_scheduler_get_info(const krafla_scheduler* scheduler, krafla_scheduler_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(scheduler);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_scheduler_info"));
    const SchedulerInfo inner = scheduler->scheduler->info();
    krafla_scheduler_info filled{};
    filled.running = inner.running;
    filled.waiting = inner.waiting;
    filled.passes = inner.passes;
    filled.prompt_tokens = inner.prompt_tokens;
    filled.reused_tokens = inner.reused_tokens;
    filled.reply_tokens = inner.reply_tokens;
    filled.cache_bytes = inner.cache_bytes;
    filled.cached = inner.cached;
    filled.folder_bytes = inner.folder_bytes;
    filled.in_folder = inner.in_folder;
    capi::WriteInfo(filled, info);
    return OkStatus();
  });
}

int32_t krafla_scheduler_add(krafla_request** out, krafla_scheduler* scheduler, const int32_t* ids,
                             size_t n, const krafla_sampler* sampler,
                             const krafla_generate_options* generate,
                             const krafla_request_options* options) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(out);
    KRAFLA_CHECK_POINTER(scheduler);
    KRAFLA_ASSIGN_OR_RETURN(const auto span, capi::ReadIds(ids, n));
    krafla_generate_options given;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(generate, "krafla_generate_options", &given));
    krafla_request_options own;
    KRAFLA_RETURN_IF_ERROR(capi::ReadOptions(options, "krafla_request_options", &own));
    auto request = std::make_unique<krafla_request>();
    KRAFLA_ASSIGN_OR_RETURN(
        request->task, RequestTask::Create(scheduler->shared, scheduler->scheduler->root(), sampler,
                                           given, span.size()));
    {
      std::lock_guard lock(scheduler->mutex);
      KRAFLA_RETURN_IF_ERROR(scheduler->scheduler->Add(
          std::vector<int32_t>(span.begin(), span.end()), own.priority, request->task));
    }
    scheduler->changed.notify_all();
    *out = request.release();
    return OkStatus();
  });
}

int32_t krafla_scheduler_step(krafla_scheduler* scheduler, int64_t max_us) {
  bool done = true;
  const int32_t code = Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(scheduler);
    if (scheduler->thread.joinable()) {
      return StateError("scheduler: it works on a thread of its own, want no steps");
    }
    Busy busy(scheduler->busy);
    KRAFLA_RETURN_IF_ERROR(busy.status());
    KRAFLA_ASSIGN_OR_RETURN(done, scheduler->scheduler->Step(max_us));
    return OkStatus();
  });
  return code == KRAFLA_OK && !done ? KRAFLA_PAUSED : code;
}

int32_t krafla_request_poll(krafla_request* request, krafla_event* event, int64_t wait_us) {
  bool any = true;
  const int32_t code = Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(request);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(event, "krafla_event"));
    krafla_event next = KRAFLA_EVENT_INIT;
    any = request->task->events().Poll(&next, wait_us);
    if (any) capi::WriteInfo(next, event);
    return OkStatus();
  });
  return code == KRAFLA_OK && !any ? KRAFLA_PAUSED : code;
}

int32_t krafla_request_cancel(krafla_request* request) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(request);
    request->task->Cancel();
    return OkStatus();
  });
}

int32_t krafla_request_get_info(const krafla_request* request, krafla_request_info* info) {
  return Guard([&]() -> Status {
    KRAFLA_CHECK_POINTER(request);
    KRAFLA_RETURN_IF_ERROR(capi::CheckInfo(info, "krafla_request_info"));
    capi::WriteInfo(request->task->info(), info);
    return OkStatus();
  });
}

void krafla_request_free(krafla_request* request) {
  if (request == nullptr) return;
  request->task->Cancel();
  delete request;
}

}  // extern "C"

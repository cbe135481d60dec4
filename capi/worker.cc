// See worker.h.
#include "capi/worker.h"

#include <utility>

#include "capi/generation.h"
#include "capi/guard.h"

namespace krafla::capi {

StatusOr<std::shared_ptr<Worker>> Worker::Create(krafla_session* session,
                                                 std::span<const int32_t> ids,
                                                 krafla_sampler* sampler,
                                                 const krafla_generate_options& options) {
  std::shared_ptr<Worker> worker(new Worker(session));
  worker->ids_.assign(ids.begin(), ids.end());
  if (sampler != nullptr) {
    krafla_generate_options own = options;
    own.user = worker.get();
    own.on_token = [](void* user, const krafla_token* token) {
      static_cast<Worker*>(user)->events_.Token(*token);
      return 0;
    };
    KRAFLA_ASSIGN_OR_RETURN(worker->generation_, Generation::Create(session, sampler, own));
    if (ids.empty()) KRAFLA_RETURN_IF_ERROR(worker->generation_->CheckLogits());
  }
  return worker;
}

void Worker::Start() {
  thread_ = std::thread([this] { Run(); });
}

Worker::~Worker() {
  if (!thread_.joinable()) return;
  events_.IfNotEnded([this] { session_->session->Cancel(); });
  thread_.join();
}

Status Worker::Work() {
  AppendOptions options;
  options.user = this;
  options.on_progress = [](void* user, int64_t done, int64_t total) {
    static_cast<Worker*>(user)->events_.Progress(done, total);
    return 0;
  };
  const int64_t before = session_->session->length();
  KRAFLA_RETURN_IF_ERROR(session_->session->Append(ids_, options));
  session_->NoteAppend(before);
  if (!ids_.empty()) {
    const auto n = static_cast<int64_t>(ids_.size());
    events_.Progress(n, n);
  }
  if (generation_ == nullptr) return OkStatus();
  return generation_->Step(-1).status();
}

// As Guard: nothing leaves the thread.
void Worker::Run() noexcept {
  DefaultFloatMode mode;
  int32_t code = KRAFLA_OK;
  try {
    code = Report(Work());
  } catch (const std::bad_alloc&) {
    SetErrorMessage("memory: an allocation failed");
    code = KRAFLA_E_MEMORY;
  } catch (...) {
    SetErrorMessage("internal: an exception in a session's thread");
    code = KRAFLA_E_INTERNAL;
  }
  End(code, code == KRAFLA_OK ? "" : krafla_error_message());
}

void Worker::End(int32_t code, std::string_view message) noexcept {
  krafla_event end = KRAFLA_EVENT_INIT;
  end.code = code;
  if (generation_ != nullptr) {
    generation_->Abandon();
    session_->result = generation_->result();
    end.n_tokens = session_->result.n_tokens;
    end.finish = code == KRAFLA_OK ? session_->result.finish : 0;
  }
  events_.End(end, message);
}

bool Worker::Poll(krafla_event* event, int64_t wait_us) {
  if (!events_.Poll(event, wait_us)) return false;
  const bool end = event->kind == KRAFLA_EVENT_END;
  if (end && !std::exchange(polled_, true)) session_->busy.store(false);
  return true;
}

}  // namespace krafla::capi

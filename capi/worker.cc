// See worker.h.
#include "capi/worker.h"

#include <cstring>
#include <utility>

#include "capi/generation.h"
#include "capi/guard.h"
#include "lib/base/duration.h"

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
      return static_cast<Worker*>(user)->OnToken(*token);
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
  {
    std::lock_guard lock(mutex_);
    if (!ended_) session_->session->Cancel();
  }
  thread_.join();
}

Status Worker::Work() {
  AppendOptions options;
  options.user = this;
  options.on_progress = [](void* user, int64_t done, int64_t total) {
    static_cast<Worker*>(user)->OnProgress(done, total);
    return 0;
  };
  const int64_t before = session_->session->length();
  KRAFLA_RETURN_IF_ERROR(session_->session->Append(ids_, options));
  session_->NoteAppend(before);
  if (!ids_.empty()) {
    const auto n = static_cast<int64_t>(ids_.size());
    OnProgress(n, n);
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
  if (generation_ != nullptr) {
    generation_->Abandon();
    session_->result = generation_->result();
    end_.n_tokens = session_->result.n_tokens;
    end_.finish = code == KRAFLA_OK ? session_->result.finish : 0;
  }
  end_.kind = KRAFLA_EVENT_END;
  end_.code = code;
  end_.id = -1;
  const size_t n = std::min(message.size(), sizeof(message_));
  if (n != 0) std::memcpy(message_, message.data(), n);
  end_.text = message_;
  end_.text_length = n;
  std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

int Worker::OnToken(const krafla_token& token) {
  Item item;
  item.event.kind = KRAFLA_EVENT_TOKEN;
  item.event.position = token.position;
  item.event.id = token.id;
  item.text.assign(token.text, token.text_length);
  item.event.logprob = token.logprob;
  item.event.n_top = token.n_top;
  item.event.chain_logprob = token.chain_logprob;
  item.event.n_chain_top = token.n_chain_top;
  item.ids.assign(token.top_ids, token.top_ids + token.n_top);
  item.ids.insert(item.ids.end(), token.chain_top_ids, token.chain_top_ids + token.n_chain_top);
  item.logprobs.assign(token.top_logprobs, token.top_logprobs + token.n_top);
  item.logprobs.insert(item.logprobs.end(), token.chain_top_logprobs,
                       token.chain_top_logprobs + token.n_chain_top);
  Push(std::move(item));
  return 0;
}

void Worker::OnProgress(int64_t done, int64_t total) {
  Item item;
  item.event.kind = KRAFLA_EVENT_PROMPT;
  item.event.done = done;
  item.event.total = total;
  item.event.id = -1;
  Push(std::move(item));
}

// Of progress only the latest is of interest.
void Worker::Push(Item item) {
  std::lock_guard lock(mutex_);
  if (!items_.empty() && item.event.kind == KRAFLA_EVENT_PROMPT &&
      items_.back().event.kind == KRAFLA_EVENT_PROMPT) {
    items_.back() = std::move(item);
  } else {
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

bool Worker::Poll(krafla_event* event, int64_t wait_us) {
  std::unique_lock lock(mutex_);
  const auto any = [this] { return !items_.empty() || ended_; };
  if (wait_us < 0) {
    changed_.wait(lock, any);
  } else {
    if (!changed_.wait_for(lock, AtMostAYear(wait_us), any)) return false;
  }
  if (!items_.empty()) {
    current_ = std::move(items_.front());
    items_.pop_front();
    *event = current_.event;
    event->text = current_.text.data();
    event->text_length = current_.text.size();
    event->top_ids = current_.ids.data();
    event->top_logprobs = current_.logprobs.data();
    event->chain_top_ids = current_.ids.data() + event->n_top;
    event->chain_top_logprobs = current_.logprobs.data() + event->n_top;
    return true;
  }
  *event = end_;
  if (!std::exchange(polled_, true)) session_->busy.store(false);
  return true;
}

}  // namespace krafla::capi

// See events.h.
#include "capi/events.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/base/duration.h"

namespace krafla::capi {

void EventQueue::Token(const krafla_token& token) {
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
}

void EventQueue::Progress(int64_t done, int64_t total) {
  Item item;
  item.event.kind = KRAFLA_EVENT_PROMPT;
  item.event.done = done;
  item.event.total = total;
  item.event.id = -1;
  Push(std::move(item));
}

// Of progress only the latest is of interest.
void EventQueue::Push(Item item) {
  std::lock_guard lock(mutex_);
  if (!items_.empty() && item.event.kind == KRAFLA_EVENT_PROMPT &&
      items_.back().event.kind == KRAFLA_EVENT_PROMPT) {
    items_.back() = std::move(item);
  } else {
    items_.push_back(std::move(item));
  }
  changed_.notify_all();
}

void EventQueue::End(krafla_event end, std::string_view message) noexcept {
  std::lock_guard lock(mutex_);
  end_ = end;
  end_.kind = KRAFLA_EVENT_END;
  end_.id = -1;
  const size_t n = std::min(message.size(), sizeof(message_));
  if (n != 0) std::memcpy(message_, message.data(), n);
  end_.text = message_;
  end_.text_length = n;
  ended_ = true;
  changed_.notify_all();
}

bool EventQueue::Poll(krafla_event* event, int64_t wait_us) {
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
  return true;
}

}  // namespace krafla::capi

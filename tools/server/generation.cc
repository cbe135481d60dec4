// See generation.h.
#include "tools/server/generation.h"

#include <algorithm>

#include "tools/server/errors.h"

namespace krafla::server {
namespace {

constexpr int64_t kWaitUs = 50000;
constexpr int64_t kWaitOfSeveralUs = 5000;
constexpr std::chrono::milliseconds kLook{25};  // how often the client is looked after

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

krafla::Request Add(ServedModel* model, const std::vector<int32_t>& ids, const Sampler& sampler,
                    const krafla_generate_options& options) {
  try {
    return model->Add(ids, sampler, options);
  } catch (const Error& error) {
    if (error.code() == KRAFLA_E_STATE) {
      throw ApiError(429, "queue_full", "too many requests are waiting; try again later");
    }
    throw FromLibrary(error);
  }
}

}  // namespace

const char* FinishReason(int32_t finish) {
  return finish == KRAFLA_FINISH_LENGTH || finish == KRAFLA_FINISH_CONTEXT ? "length" : "stop";
}

Generation::Generation(const Call& call, ServedModel* model,
                       std::vector<std::vector<int32_t>> prompts, int64_t n,
                       const Sampling& sampling)
    : call_(call), n_(static_cast<size_t>(n)) {
  for (const std::vector<int32_t>& ids : prompts) {
    CheckFits(ids.size(), model->context(), /*reply=*/true);
    n_prompt_ += static_cast<int64_t>(ids.size());
  }
  const int64_t choices = static_cast<int64_t>(prompts.size()) * n;
  if (choices > model->places()) {  // waiting would not help
    throw BadField(prompts.size() > 1 ? "prompt" : "n",
                   "got {} choices in all, want at most {}, which is what this server has places "
                   "for (--parallel and --queue)",
                   choices, model->places());
  }
  const krafla_generate_options options = sampling.Options();
  for (const std::vector<int32_t>& ids : prompts) {
    for (int64_t i = 0; i < n; ++i) {
      const auto choice = static_cast<int64_t>(requests_.size());
      requests_.push_back(Add(model, ids, sampling.Make(choice), options));
    }
  }
  ends_.resize(requests_.size());
  cut_.resize(requests_.size());
}

void Generation::Finish(size_t choice) {
  cut_[choice] = true;
  requests_[choice].Cancel();
}

// Looks after the client and the server.
void Generation::Look() {
  if (Clock::now() - looked_ < kLook) return;
  looked_ = Clock::now();
  call_.CheckWanted();
}

// Takes one event; false where none came within wait_us.
bool Generation::Poll(size_t choice, int64_t wait_us, const Listener& listener) {
  krafla_event event = KRAFLA_EVENT_INIT;
  if (!requests_[choice].Poll(&event, wait_us)) return false;
  if (event.kind == KRAFLA_EVENT_PROMPT) {
    if (choice != 0) return true;
    prompt_end_ = Clock::now();
    if (listener.on_progress) {
      listener.on_progress({{"total", event.total},
                            {"cache", requests_[0].info().reused},
                            {"processed", event.done},
                            {"time_ms", Milliseconds(prompt_end_ - began_)}});
    }
  } else if (event.kind == KRAFLA_EVENT_TOKEN) {
    if (first_token_ == Clock::time_point{}) first_token_ = Clock::now();
    if (!cut_[choice]) listener.on_token(choice, event);
  } else {
    const bool cut = cut_[choice] && event.code == KRAFLA_E_CANCELLED;
    if (event.code < 0 && !cut) {
      throw FromLibrary(Error(event.code, std::string(event.text, event.text_length)));
    }
    ends_[choice] = {true, cut ? 0 : event.finish, event.n_tokens};
    if (choice == 0) end_ = Clock::now();
    if (listener.on_end) listener.on_end(choice);
  }
  return true;
}

void Generation::Run(const Listener& listener) {
  struct Counted {
    ~Counted() { generation->Count(); }
    Generation* generation;
  } counted{this};
  for (;;) {
    bool any = false;
    size_t left = 0;
    size_t last = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (ends_[i].ended) continue;
      any |= Poll(i, 0, listener);
      if (ends_[i].ended) continue;
      ++left;
      last = i;
    }
    if (left == 0) return;
    if (!any) any = Poll(last, left == 1 ? kWaitUs : kWaitOfSeveralUs, listener);
    if (!any && listener.on_quiet) listener.on_quiet();
    Look();
  }
}

// Of the prompts; a second choice of one finds nothing that the first has not read.
int64_t Generation::Cached() const {
  int64_t cached = 0;
  for (size_t i = 0; i < requests_.size(); i += n_) {
    cached += std::max<int64_t>(requests_[i].info().reused, 0);
  }
  return cached;
}

int64_t Generation::Generated() const {
  int64_t tokens = 0;
  for (const krafla::Request& request : requests_) tokens += request.info().n_tokens;
  return tokens;
}

void Generation::Count() {
  const bool any = first_token_ != Clock::time_point{};
  call_.state.metrics.Generated(n_prompt_, Cached(), Generated(),
                                any ? Milliseconds(first_token_ - began_) / 1000 : 0);
}

Json Generation::Usage() const {
  const int64_t generated = Generated();
  return {{"prompt_tokens", n_prompt_},
          {"completion_tokens", generated},
          {"total_tokens", n_prompt_ + generated},
          {"prompt_tokens_details", {{"cached_tokens", Cached()}}}};
}

// A reply's tokens are chosen from the pass that ends the prompt and from each further one, and the
// last is read too: as many passes as tokens.
Json Generation::Timings() const {
  const krafla_request_info info = requests_[0].info();
  const int64_t cached = std::max<int64_t>(info.reused, 0);
  const int64_t read = info.prompt_tokens - cached;
  const bool any = prompt_end_ != Clock::time_point{};
  const Clock::time_point end = ends_[0].ended ? end_ : Clock::now();
  const double prompt_ms = any ? Milliseconds(prompt_end_ - began_) : 0;
  const double reply_ms = any ? Milliseconds(end - prompt_end_) : 0;
  const auto rate = [](int64_t n, double ms) {
    return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0.0;
  };
  return {{"cache_n", cached},
          {"prompt_n", read},
          {"prompt_ms", prompt_ms},
          {"prompt_per_second", rate(read, prompt_ms)},
          {"predicted_n", info.n_tokens},
          {"predicted_ms", reply_ms},
          {"predicted_per_second", rate(info.n_tokens, reply_ms)}};
}

}  // namespace krafla::server

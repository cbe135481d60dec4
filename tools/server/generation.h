// From a prompt's ids to events: one request of the scheduler for each choice, watched so that it
// ends when its client leaves, whether it still waits, reads the prompt or decodes.
#ifndef KRAFLA_TOOLS_SERVER_GENERATION_H_
#define KRAFLA_TOOLS_SERVER_GENERATION_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "tools/server/json.h"
#include "tools/server/sampling.h"
#include "tools/server/state.h"

namespace krafla::server {

struct ChoiceEnd {
  bool ended = false;
  int32_t finish = 0;  // KRAFLA_FINISH_*; 0: it was cut off
  int64_t n_tokens = 0;
};

class Generation {
 public:
  // What comes while it runs; each may throw, which cancels all.
  struct Listener {
    std::function<void(size_t choice, const krafla_event&)> on_token;
    // Of the prompt of choice 0: {"total", "cache", "processed", "time_ms"}.
    std::function<void(const Json&)> on_progress;
    std::function<void(size_t choice)> on_end;
    std::function<void()> on_quiet;  // now and then while nothing comes
  };

  // Takes its place in the queue: n choices for each prompt, those of prompt 0 first, each with the
  // next seed. Throws ApiError: too long (400), queue full (429). sampling must live until the end.
  Generation(const Call& call, ServedModel* model, std::vector<std::vector<int32_t>> prompts,
             int64_t n, const Sampling& sampling);

  // To the end of every choice. Throws ApiError and ClientLeft.
  void Run(const Listener& listener);
  // That choice needs no more tokens.
  void Finish(size_t choice);

  const ChoiceEnd& end(size_t choice) const { return ends_[choice]; }
  // {"prompt_tokens", "completion_tokens", "total_tokens", ...}
  Json Usage() const;
  // As llama.cpp's server has them, of choice 0: {"cache_n", "prompt_n", "prompt_ms", ...}
  Json Timings() const;

 private:
  bool Poll(size_t choice, int64_t wait_us, const Listener& listener);
  void Look();
  void Count();
  int64_t Cached() const;
  int64_t Generated() const;

  const Call& call_;
  int64_t n_prompt_ = 0;  // tokens of all prompts
  size_t n_;
  std::vector<krafla::Request> requests_;
  std::vector<ChoiceEnd> ends_;
  std::vector<bool> cut_;
  Clock::time_point began_ = Clock::now();
  Clock::time_point looked_ = began_;
  Clock::time_point first_token_{};
  Clock::time_point prompt_end_{};  // of choice 0, likewise the next
  Clock::time_point end_{};
};

// "stop", "length".
const char* FinishReason(int32_t finish);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_GENERATION_H_

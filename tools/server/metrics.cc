// See metrics.h.
#include "tools/server/metrics.h"

#include <fmt/format.h>

namespace krafla::server {
namespace {

void Add(std::string* text, const char* name, const char* type, const char* help, double value) {
  *text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n{0} {3}\n", name, type, help, value);
}

}  // namespace

void Metrics::Answered(const std::string& path, int status, double seconds) {
  std::lock_guard lock(mutex_);
  ++answered_[{path, status}];
  seconds_ += seconds;
}

void Metrics::Generated(int64_t prompt, int64_t cached, int64_t reply, double first_token_seconds) {
  std::lock_guard lock(mutex_);
  prompt_ += static_cast<uint64_t>(prompt);
  cached_ += static_cast<uint64_t>(cached);
  reply_ += static_cast<uint64_t>(reply);
  if (reply > 0) {
    ++generations_;
    first_token_ += first_token_seconds;
  }
}

std::string Metrics::Text() const {
  std::lock_guard lock(mutex_);
  std::string text =
      "# HELP krafla_http_requests_total Requests answered\n"
      "# TYPE krafla_http_requests_total counter\n";
  for (const auto& [key, n] : answered_) {
    text += fmt::format("krafla_http_requests_total{{path=\"{}\",status=\"{}\"}} {}\n", key.first,
                        key.second, n);
  }
  Add(&text, "krafla_http_request_seconds_total", "counter", "Time spent on them", seconds_);
  Add(&text, "krafla_http_requests_in_flight", "gauge", "Requests at work",
      static_cast<double>(in_flight.load()));
  Add(&text, "krafla_clients_left_total", "counter", "Clients that left before their answer",
      static_cast<double>(left_.load()));
  Add(&text, "krafla_prompt_tokens_total", "counter", "Tokens of prompts",
      static_cast<double>(prompt_));
  Add(&text, "krafla_cached_tokens_total", "counter", "Of these, tokens that were not read again",
      static_cast<double>(cached_));
  Add(&text, "krafla_reply_tokens_total", "counter", "Tokens generated",
      static_cast<double>(reply_));
  text += fmt::format(
      "# HELP krafla_first_token_seconds Time from a request to its first token\n"
      "# TYPE krafla_first_token_seconds summary\n"
      "krafla_first_token_seconds_sum {}\nkrafla_first_token_seconds_count {}\n",
      first_token_, generations_);
  return text;
}

}  // namespace krafla::server

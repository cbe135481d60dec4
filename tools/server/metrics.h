// Counters for Prometheus, and for whoever tests that none is forgotten.
#ifndef KRAFLA_TOOLS_SERVER_METRICS_H_
#define KRAFLA_TOOLS_SERVER_METRICS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace krafla::server {

class Metrics {
 public:
  // A request was answered; path is one of the routes, or "other".
  void Answered(const std::string& path, int status, double seconds);
  void Generated(int64_t prompt, int64_t cached, int64_t reply, double first_token_seconds);
  void ClientLeft() { ++left_; }

  std::atomic<int64_t> in_flight{0};

  // Prometheus' text format, without what others know.
  std::string Text() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> answered_;
  double seconds_ = 0;
  uint64_t prompt_ = 0;
  uint64_t cached_ = 0;
  uint64_t reply_ = 0;
  uint64_t generations_ = 0;
  double first_token_ = 0;
  std::atomic<uint64_t> left_{0};
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_METRICS_H_

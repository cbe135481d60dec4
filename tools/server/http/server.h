// Accepts connections, a thread for each up to a limit; stops by letting requests end.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_SERVER_H_
#define KRAFLA_TOOLS_SERVER_HTTP_SERVER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "tools/server/http/connection.h"

namespace krafla::server {

class HttpServer {
 public:
  HttpServer(Listener listener, const HttpLimits& limits, int64_t max_connections, Handler handler,
             ErrorBody error_body);

  // Until stop() is true: connections are taken.
  void Run(const std::function<bool()>& stop);
  // No more connections and no further requests on those that are open. True when all have ended
  // within the time.
  bool Drain(std::chrono::milliseconds time);

  int64_t connections() const { return connections_.load(); }
  uint64_t refused() const { return refused_.load(); }

 private:
  void Start(Socket socket);
  void Refuse(Socket socket);

  Listener listener_;
  HttpLimits limits_;
  int64_t max_connections_;
  Handler handler_;
  ErrorBody error_body_;
  std::atomic<bool> closing_{false};
  std::atomic<int64_t> connections_{0};
  std::atomic<uint64_t> refused_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_SERVER_H_

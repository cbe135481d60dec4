// See server.h.
#include "tools/server/http/server.h"

#include <fmt/format.h>

#include <new>
#include <thread>

namespace krafla::server {
namespace {

constexpr int kLookMs = 200;  // how often the loop asks whether to stop
constexpr std::chrono::milliseconds kNoPatience{0};

}  // namespace

HttpServer::HttpServer(Listener listener, const HttpLimits& limits, int64_t max_connections,
                       Handler handler, ErrorBody error_body)
    : listener_(std::move(listener)),
      limits_(limits),
      max_connections_(max_connections),
      handler_(std::move(handler)),
      error_body_(std::move(error_body)) {}

void HttpServer::Run(const std::function<bool()>& stop) {
  while (!stop()) {
    bool exhausted = false;
    try {
      Socket socket = listener_.Accept(kLookMs, &exhausted);
      const bool full = connections_.load() >= max_connections_;
      if (socket.valid()) full ? Refuse(std::move(socket)) : Start(std::move(socket));
    } catch (const std::bad_alloc&) {
      exhausted = true;
    }
    // No descriptor or no memory is left: connections must end before there is.
    if (exhausted) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// Without waiting for anything: the loop must go on.
void HttpServer::Refuse(Socket socket) {
  ++refused_;
  const std::string body = error_body_({503, "too many connections"});
  socket.Write(fmt::format("HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
                           "Retry-After: 1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{}",
                           body.size(), body),
               kNoPatience);
}

void HttpServer::Start(Socket socket) {
  ++connections_;
  try {
    std::thread([this, socket = std::move(socket)]() mutable {
      try {
        Connection(std::move(socket), limits_, &closing_).Serve(handler_, error_body_);
      } catch (const std::exception&) {  // no memory: this connection alone ends
      }
      std::lock_guard lock(mutex_);
      --connections_;
      ended_.notify_all();
    }).detach();
  } catch (const std::exception&) {  // no thread, or no memory for one
    --connections_;
    ++refused_;
  }
}

bool HttpServer::Drain(std::chrono::milliseconds time) {
  closing_ = true;
  listener_.Close();
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return connections_.load() == 0; });
}

}  // namespace krafla::server

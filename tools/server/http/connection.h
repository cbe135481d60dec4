// One client's connection: requests one after the other, each within limits of size and time.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_CONNECTION_H_
#define KRAFLA_TOOLS_SERVER_HTTP_CONNECTION_H_

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

#include "tools/server/http/message.h"
#include "tools/server/http/reply.h"
#include "tools/server/http/socket.h"

namespace krafla::server {

struct HttpLimits {
  uint64_t body_bytes = uint64_t{16} << 20;
  size_t head_bytes = 16 << 10;
  std::chrono::seconds head_time{10};  // from a request's first byte
  std::chrono::seconds body_time{60};
  std::chrono::seconds idle_time{30};  // between requests
};

// Answers in full, or throws nothing and leaves the reply untouched (500 then).
using Handler = std::function<void(const HttpRequest&, HttpReply&)>;
// An error of the transport as a body: {content type, body}.
using ErrorBody = std::function<std::string(const HttpError&)>;

class Connection {
 public:
  // While *closing is set no further request is taken.
  Connection(Socket socket, const HttpLimits& limits, const std::atomic<bool>* closing);

  void Serve(const Handler& handler, const ErrorBody& error_body);

 private:
  enum class Got { kRequest, kNothing, kError };
  // False where the connection ends.
  bool ServeOne(const Handler& handler, const ErrorBody& error_body, size_t* body_bytes);
  Got ReadRequest(HttpRequest* request, HttpError* error);
  Got ReadHead(std::string* head, HttpError* error);
  Got ReadBody(HttpRequest* request, HttpError* error);
  bool Fill(Deadline deadline, HttpError* error, const char* what);
  bool WaitForRequest();

  Socket socket_;
  const HttpLimits& limits_;
  const std::atomic<bool>* closing_;
  std::string input_;  // read, not yet taken
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_CONNECTION_H_

// How a handler answers: one message, or a stream of pieces.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_REPLY_H_
#define KRAFLA_TOOLS_SERVER_HTTP_REPLY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/server/http/message.h"
#include "tools/server/http/socket.h"

namespace krafla::server {

class HttpReply {
 public:
  // keep_alive: whether the connection may serve another request afterwards.
  HttpReply(Socket* socket, const HttpRequest& request, bool keep_alive)
      : socket_(socket),
        head_only_(request.method == "HEAD"),
        chunked_(!request.http10),
        keep_alive_(keep_alive && request.keep_alive) {}

  // For every answer that is begun afterwards.
  void AddHeader(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
  }
  void Send(int status, std::string_view content_type, std::string_view body);
  void BeginStream(int status, std::string_view content_type);
  // False where the client is gone; what is written then goes nowhere.
  bool Write(std::string_view bytes);
  void EndStream();
  void CloseAfter() { keep_alive_ = false; }

  bool begun() const { return status_ != 0; }
  int status() const { return status_; }
  bool keep_alive() const { return keep_alive_ && !failed_; }
  bool ClientGone() const { return failed_ || socket_->PeerGone(); }
  uint64_t bytes() const { return bytes_; }

 private:
  std::string Head(int status, std::string_view content_type) const;
  void WriteRaw(std::string_view bytes);

  Socket* socket_;
  bool head_only_;
  bool chunked_;
  bool keep_alive_;
  bool failed_ = false;
  int status_ = 0;
  uint64_t bytes_ = 0;
  std::vector<std::pair<std::string, std::string>> headers_;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_REPLY_H_

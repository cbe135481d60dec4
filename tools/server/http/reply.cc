// See reply.h.
#include "tools/server/http/reply.h"

#include <fmt/format.h>

namespace krafla::server {
namespace {

constexpr std::chrono::seconds kPatience{20};  // with a client that reads nothing

}  // namespace

std::string HttpReply::Head(int status, std::string_view content_type) const {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, ReasonPhrase(status));
  if (!content_type.empty()) head += fmt::format("Content-Type: {}\r\n", content_type);
  for (const auto& [name, value] : headers_) head += fmt::format("{}: {}\r\n", name, value);
  head += keep_alive_ ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  return head;
}

void HttpReply::WriteRaw(std::string_view bytes) {
  if (failed_) return;
  bytes_ += bytes.size();
  if (!socket_->Write(bytes, kPatience)) failed_ = true;
}

void HttpReply::Send(int status, std::string_view content_type, std::string_view body) {
  status_ = status;
  std::string message = Head(status, content_type);
  if (status != 204 && status != 304) message += fmt::format("Content-Length: {}\r\n", body.size());
  message += "\r\n";
  if (!head_only_) message += body;
  WriteRaw(message);
}

void HttpReply::BeginStream(int status, std::string_view content_type) {
  status_ = status;
  if (!chunked_) keep_alive_ = false;  // HTTP/1.0: the end of the connection is the stream's
  std::string message = Head(status, content_type);
  if (chunked_) message += "Transfer-Encoding: chunked\r\n";
  WriteRaw(message + "\r\n");
}

bool HttpReply::Write(std::string_view bytes) {
  if (bytes.empty() || head_only_) return !failed_;
  if (!chunked_) {
    WriteRaw(bytes);
  } else {
    WriteRaw(fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes));
  }
  return !failed_;
}

void HttpReply::EndStream() {
  if (chunked_ && !head_only_) WriteRaw("0\r\n\r\n");
}

}  // namespace krafla::server

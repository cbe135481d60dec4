// See connection.h.
#include "tools/server/http/connection.h"

#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>

namespace krafla::server {
namespace {

constexpr std::chrono::milliseconds kLook{200};  // how often a wait looks whether it is to end
constexpr std::chrono::seconds kPatience{10};
constexpr size_t kLargeBody = 256 << 10;

// What a large request took in its thread's arena, glibc keeps for that arena's next one.
void ReturnFreedMemory() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

Connection::Connection(Socket socket, const HttpLimits& limits, const std::atomic<bool>* closing)
    : socket_(std::move(socket)), limits_(limits), closing_(closing) {}

void Connection::Serve(const Handler& handler, const ErrorBody& error_body) {
  bool go_on = true;
  while (go_on && WaitForRequest()) {
    size_t body_bytes = 0;
    go_on = ServeOne(handler, error_body, &body_bytes);
    if (body_bytes >= kLargeBody) ReturnFreedMemory();
  }
  socket_.CloseGently();
}

bool Connection::ServeOne(const Handler& handler, const ErrorBody& error_body, size_t* body_bytes) {
  HttpRequest request;
  HttpError error;
  const Got got = ReadRequest(&request, &error);
  *body_bytes = request.body.size();
  if (got == Got::kNothing) return false;
  if (got == Got::kError) {
    HttpReply reply(&socket_, request, false);
    reply.Send(error.status, "application/json", error_body(error));
    return false;
  }
  request.peer = socket_.PeerAddress();
  HttpReply reply(&socket_, request, !closing_->load());
  handler(request, reply);
  if (!reply.begun()) {
    reply.CloseAfter();
    reply.Send(500, "application/json", error_body({500, "no answer was made"}));
  }
  return reply.keep_alive();
}

bool Connection::WaitForRequest() {
  const Deadline end = Clock::now() + limits_.idle_time;
  while (input_.empty()) {
    if (closing_->load() || Clock::now() >= end) return false;
    if (socket_.WaitReadable(std::min(Clock::now() + kLook, end))) return true;
  }
  return !closing_->load();
}

// Reads more; false at the peer's end, after the deadline (then *error is set) and on errors.
bool Connection::Fill(Deadline deadline, HttpError* error, const char* what) {
  char bytes[16 << 10];
  const ptrdiff_t got = socket_.Read(bytes, sizeof(bytes), deadline);
  if (got == -2) *error = {408, fmt::format("{}: it took too long", what)};
  if (got <= 0) return false;
  input_.append(bytes, static_cast<size_t>(got));
  return true;
}

Connection::Got Connection::ReadHead(std::string* head, HttpError* error) {
  const Deadline deadline = Clock::now() + limits_.head_time;
  size_t searched = 0;
  for (;;) {
    // An empty line before a request is allowed, and what some clients send behind a body.
    while (input_.starts_with("\r\n")) input_.erase(0, 2);
    const size_t end = input_.find("\r\n\r\n", searched);
    if (end != std::string::npos && end + 4 <= limits_.head_bytes) {
      *head = input_.substr(0, end + 4);
      input_.erase(0, end + 4);
      return Got::kRequest;
    }
    if (input_.size() > limits_.head_bytes) {
      *error = {431, fmt::format("header: more than {} bytes", limits_.head_bytes)};
      return Got::kError;
    }
    searched = input_.size() < 3 ? 0 : input_.size() - 3;
    if (!Fill(deadline, error, "header")) {
      return error->status != 0 ? Got::kError : Got::kNothing;
    }
  }
}

Connection::Got Connection::ReadBody(HttpRequest* request, HttpError* error) {
  if (request->has_length && request->content_length > limits_.body_bytes) {
    *error = {413, fmt::format("body: got {} bytes, want at most {}", request->content_length,
                               limits_.body_bytes)};
    return Got::kError;
  }
  const uint64_t length = request->has_length ? request->content_length : 0;
  if (!request->chunked && length == 0) return Got::kRequest;
  if (request->expects_continue && !socket_.Write("HTTP/1.1 100 Continue\r\n\r\n", kPatience)) {
    return Got::kNothing;
  }
  const Deadline deadline = Clock::now() + limits_.body_time;
  ChunkedBody chunks(limits_.body_bytes);
  for (;;) {
    if (request->chunked) {
      std::string_view rest = input_;
      const bool done = chunks.Push(&rest, &request->body, error);
      input_.erase(0, input_.size() - rest.size());
      if (error->status != 0) return Got::kError;
      if (done) return Got::kRequest;
    } else {
      const auto n =
          static_cast<size_t>(std::min<uint64_t>(input_.size(), length - request->body.size()));
      request->body.append(input_, 0, n);
      input_.erase(0, n);
      if (request->body.size() == length) return Got::kRequest;
    }
    if (!Fill(deadline, error, "body")) {
      return error->status != 0 ? Got::kError : Got::kNothing;
    }
  }
}

Connection::Got Connection::ReadRequest(HttpRequest* request, HttpError* error) {
  std::string head;
  const Got got = ReadHead(&head, error);
  if (got != Got::kRequest) return got;
  *error = ParseHead(head, request);
  if (error->status != 0) return Got::kError;
  const std::string encoding = LowerCase(request->Header("content-encoding"));
  if (!encoding.empty() && encoding != "identity") {
    *error = {415, "header: Content-Encoding: compressed bodies are not taken"};
    return Got::kError;
  }
  return ReadBody(request, error);
}

}  // namespace krafla::server

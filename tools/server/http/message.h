// HTTP/1.1 messages. The parser takes what RFC 9112 says and nothing more: a server behind a proxy
// must never see another request in the bytes than the proxy did.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_MESSAGE_H_
#define KRAFLA_TOOLS_SERVER_HTTP_MESSAGE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace krafla::server {

struct HttpRequest {
  std::string method;
  std::string path;                                          // percent-decoded, without the query
  std::string query;                                         // as it came
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  std::string peer;  // address
  bool http10 = false;
  bool keep_alive = true;
  bool chunked = false;
  bool has_length = false;
  uint64_t content_length = 0;
  bool expects_continue = false;

  // "" where there is none. name in lower case.
  std::string_view Header(std::string_view name) const;
  bool HasHeader(std::string_view name) const;
};

// What is wrong with a message: a status, and a text for whoever sent it. Status 0: nothing.
struct HttpError {
  int status = 0;
  std::string message;
};

// The head of a request: all up to and with the empty line.
HttpError ParseHead(std::string_view head, HttpRequest* request);

// A body in chunks, from pieces of any size.
class ChunkedBody {
 public:
  explicit ChunkedBody(uint64_t most) : most_(most) {}
  // Takes bytes from the front of *input as far as the body goes; appends to *body. True: it is
  // complete. error->status is set where it is malformed or too large.
  bool Push(std::string_view* input, std::string* body, HttpError* error);

 private:
  enum class State : uint8_t { kSize, kData, kDataEnd, kTrailer, kDone };
  bool TakeLine(std::string_view* input, HttpError* error);

  uint64_t most_;
  State state_ = State::kSize;
  std::string line_;
  uint64_t left_ = 0;
  uint64_t total_ = 0;
  size_t trailer_bytes_ = 0;
};

std::string_view ReasonPhrase(int status);
std::string LowerCase(std::string_view text);
// Without the space around it.
std::string_view Trim(std::string_view text);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_MESSAGE_H_

// HTTP messages as ml_server reads them: a head, and behind its empty line a body in chunks, which
// must come out the same whatever the pieces are in which it arrives.
#include <algorithm>

#include "tests/fuzz/target.h"
#include "tools/server/http/message.h"

namespace {

using namespace krafla::server;  // NOLINT: the target's subject

constexpr uint64_t kMost = 1000;

struct Read {
  bool done = false;
  int status = 0;
  std::string body;
  size_t rest = 0;  // bytes behind the body, where it is complete
  bool operator==(const Read&) const = default;
};

Read InPieces(std::string_view text, size_t size) {
  ChunkedBody chunks(kMost);
  Read read;
  HttpError error;
  while (!text.empty() && !read.done && error.status == 0) {
    std::string_view piece = text.substr(0, size);
    text.remove_prefix(piece.size());
    read.done = chunks.Push(&piece, &read.body, &error);
    KRAFLA_MUST(piece.empty() || read.done || error.status != 0);
    if (read.done) read.rest = piece.size() + text.size();
  }
  read.status = error.status;
  return read;
}

void CheckHead(std::string_view head) {
  HttpRequest request;
  const HttpError error = ParseHead(head, &request);
  KRAFLA_MUST(request.headers.size() <= 100);
  if (error.status != 0) {
    KRAFLA_MUST(error.status >= 400 && error.status <= 505 && !error.message.empty());
    KRAFLA_MUST(!ReasonPhrase(error.status).empty());
    return;
  }
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
  KRAFLA_MUST(!request.method.empty() && !request.path.empty());
  KRAFLA_MUST(std::none_of(request.path.begin(), request.path.end(), control));
  KRAFLA_MUST(request.http10 || request.HasHeader("host"));
  KRAFLA_MUST(!request.chunked || !request.has_length);  // two lengths: whose is it?
  for (const auto& [name, value] : request.headers) {
    KRAFLA_MUST(!name.empty() && name == LowerCase(name) && name.find(' ') == std::string::npos);
    KRAFLA_MUST(Trim(value) == value && std::none_of(value.begin(), value.end(), control));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t end = text.find("\r\n\r\n");
  const bool whole = end != std::string_view::npos;
  CheckHead(whole ? text.substr(0, end + 4) : text);
  const std::string_view body = whole ? text.substr(end + 4) : text;
  const Read at_once = InPieces(body, std::max<size_t>(body.size(), 1));
  KRAFLA_MUST(at_once.body.size() <= kMost);
  KRAFLA_MUST(!at_once.done || at_once.status == 0);
  for (const size_t piece : {1, 2, 7}) KRAFLA_MUST(InPieces(body, piece) == at_once);
  return 0;
}

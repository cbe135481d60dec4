// See message.h.
#include "tools/server/http/message.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace krafla::server {
namespace {

constexpr size_t kMostHeaders = 100;
constexpr size_t kMostLine = 4096;  // of a chunk's size, of a trailer
constexpr size_t kMostTrailers = 8192;

HttpError Bad(std::string message) { return {400, std::move(message)}; }

bool IsTokenChar(char c) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         kOthers.find(c) != std::string_view::npos;
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsTokenChar);
}

bool IsFieldText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return c == '\t' || (u >= 0x20 && u != 0x7f);
  });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// False for a broken escape and for one of a control character.
bool DecodePath(std::string_view text, std::string* path) {
  path->clear();
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
      const int low = high >= 0 ? HexDigit(text[i + 2]) : -1;
      if (low < 0) return false;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
    path->push_back(c);
  }
  return true;
}

HttpError ParseRequestLine(std::string_view line, HttpRequest* request) {
  const size_t first = line.find(' ');
  const size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return Bad("request line: want METHOD TARGET VERSION");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!IsToken(method) || method.size() > 32) return Bad("request line: the method is no token");
  if (version == "HTTP/1.0") {
    request->http10 = true;
    request->keep_alive = false;
  } else if (version != "HTTP/1.1") {
    if (!version.starts_with("HTTP/")) return Bad("request line: want HTTP/1.1 at its end");
    return {505, "HTTP/1.0 and HTTP/1.1 are spoken here"};
  }
  const bool any = method == "OPTIONS" && target == "*";
  if (!any && !target.starts_with('/'))
    return Bad("request line: want a target that begins with /");
  const size_t end = std::min(target.find('?'), target.size());
  request->method = method;
  if (end < target.size()) request->query = target.substr(end + 1);
  const bool spaced = target.find_first_of(" \t") != std::string_view::npos;
  if (spaced || !IsFieldText(target) || !DecodePath(target.substr(0, end), &request->path)) {
    return Bad("request line: the target has a broken escape, a space or a control character");
  }
  return {};
}

HttpError ParseField(std::string_view line, HttpRequest* request) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || !IsToken(line.substr(0, colon))) {
    return Bad("header: want NAME: VALUE on each line");
  }
  const std::string_view value = Trim(line.substr(colon + 1));
  if (!IsFieldText(value)) return Bad("header: a value has a control character");
  if (request->headers.size() >= kMostHeaders) {
    return {431, fmt::format("header: more than {} fields", kMostHeaders)};
  }
  request->headers.emplace_back(LowerCase(line.substr(0, colon)), value);
  return {};
}

size_t Count(const HttpRequest& request, std::string_view name) {
  return static_cast<size_t>(
      std::count_if(request.headers.begin(), request.headers.end(),
                    [&](const auto& header) { return header.first == name; }));
}

HttpError ReadFraming(HttpRequest* request) {
  for (const char* name : {"host", "content-length", "transfer-encoding", "origin"}) {
    if (Count(*request, name) > 1) return Bad(fmt::format("header: {} is there twice", name));
  }
  if (!request->http10 && !request->HasHeader("host")) return Bad("header: Host is missing");
  request->has_length = request->HasHeader("content-length");
  if (request->HasHeader("transfer-encoding")) {
    if (request->has_length || request->http10) {
      return Bad("header: Transfer-Encoding does not go with Content-Length or HTTP/1.0");
    }
    if (LowerCase(request->Header("transfer-encoding")) != "chunked") {
      return {501, "header: of transfer encodings only chunked is known"};
    }
    request->chunked = true;
  }
  if (request->has_length) {
    const std::string_view text = request->Header("content-length");
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, request->content_length);
    if (text.empty() || stop != end || code != std::errc()) {
      return Bad("header: Content-Length is no number");
    }
  }
  const std::string connection = LowerCase(request->Header("connection"));
  if (connection.find("close") != std::string::npos) request->keep_alive = false;
  if (request->http10 && connection.find("keep-alive") != std::string::npos) {
    request->keep_alive = true;
  }
  if (request->HasHeader("expect")) {
    if (LowerCase(request->Header("expect")) != "100-continue") {
      return {417, "header: of expectations only 100-continue is known"};
    }
    request->expects_continue = !request->http10;
  }
  return {};
}

// A chunk's size in hexadecimal digits, from the line's first byte on; extensions mean nothing
// here.
bool ChunkSize(std::string_view line, uint64_t* size) {
  const size_t end = std::min(line.find(';'), line.size());
  const std::string_view before = line.substr(0, end);
  const std::string_view digits = before.substr(0, before.find_last_not_of(" \t") + 1);
  if (digits.empty() || HexDigit(digits[0]) < 0 || !IsFieldText(line)) return false;
  const char* last = digits.data() + digits.size();
  const auto [stop, code] = std::from_chars(digits.data(), last, *size, 16);
  return stop == last && code == std::errc();
}

}  // namespace

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

bool HttpRequest::HasHeader(std::string_view name) const {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return header.first == name; });
}

HttpError ParseHead(std::string_view head, HttpRequest* request) {
  bool first = true;
  while (!head.empty()) {
    const size_t end = head.find("\r\n");
    if (end == std::string_view::npos) return Bad("header: want \\r\\n at the end of each line");
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + 2);
    if (line.empty()) break;
    HttpError error = first ? ParseRequestLine(line, request) : ParseField(line, request);
    if (error.status != 0) return error;
    first = false;
  }
  if (first) return Bad("request line: is missing");
  return ReadFraming(request);
}

// Moves a line's bytes to line_; true where its end has come, which is then cut off.
bool ChunkedBody::TakeLine(std::string_view* input, HttpError* error) {
  const size_t end = input->find('\n');
  const size_t n = end == std::string_view::npos ? input->size() : end + 1;
  line_.append(input->substr(0, n));
  input->remove_prefix(n);
  if (line_.size() > kMostLine) *error = Bad("chunk: a line is too long");
  if (end == std::string_view::npos || error->status != 0) return false;
  if (!line_.ends_with("\r\n")) {
    *error = Bad("chunk: want \\r\\n at the end of each line");
    return false;
  }
  line_.resize(line_.size() - 2);
  return true;
}

bool ChunkedBody::Push(std::string_view* input, std::string* body, HttpError* error) {
  while (state_ != State::kDone && !input->empty()) {
    switch (state_) {
      case State::kSize: {
        if (!TakeLine(input, error)) return false;
        if (!ChunkSize(line_, &left_)) {
          *error = Bad("chunk: its size is no number");
          return false;
        }
        line_.clear();
        if (left_ > most_ || total_ + left_ > most_) {
          *error = {413, fmt::format("body: more than {} bytes", most_)};
          return false;
        }
        total_ += left_;
        state_ = left_ > 0 ? State::kData : State::kTrailer;
        break;
      }
      case State::kData: {
        const auto n = static_cast<size_t>(std::min<uint64_t>(left_, input->size()));
        body->append(input->substr(0, n));
        input->remove_prefix(n);
        left_ -= n;
        if (left_ == 0) state_ = State::kDataEnd;
        break;
      }
      case State::kDataEnd:
        if (!TakeLine(input, error)) return false;
        if (!line_.empty()) {
          *error = Bad("chunk: longer than its size");
          return false;
        }
        state_ = State::kSize;
        break;
      case State::kTrailer:
        if (!TakeLine(input, error)) return false;
        trailer_bytes_ += line_.size() + 2;
        if (trailer_bytes_ > kMostTrailers) {
          *error = {431, "chunk: the trailers are too long"};
          return false;
        }
        if (line_.empty()) state_ = State::kDone;
        line_.clear();
        break;
      case State::kDone:
        break;
    }
  }
  return state_ == State::kDone;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace krafla::server

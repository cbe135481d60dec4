// POSIX: sockets that never block, and poll() for every wait.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tools/server/http/socket.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

namespace krafla::server {
namespace {

constexpr int kBacklog = 512;
constexpr size_t kMostDrained = 1 << 20;
constexpr std::chrono::milliseconds kDrainTime{500};

int MillisecondsTo(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1 << 30));
}

// The events that happened; 0 when the deadline has passed.
int Wait(int fd, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{fd, events, 0};
    const int n = poll(&entry, 1, MillisecondsTo(deadline));
    if (n > 0) return entry.revents;
    if (n < 0 && errno != EINTR) return POLLERR;
    if (Clock::now() >= deadline) return 0;
  }
}

void SetUp(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

// Numbers only: looking up names would need the C library's plug-ins, which a program without
// shared libraries does not have. The address's length; 0: it is none.
socklen_t ToAddress(const std::string& host, int port, sockaddr_storage* address) {
  auto& four = reinterpret_cast<sockaddr_in&>(*address);
  auto& six = reinterpret_cast<sockaddr_in6&>(*address);
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(static_cast<uint16_t>(port));
    return sizeof(four);
  }
  if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(static_cast<uint16_t>(port));
    return sizeof(six);
  }
  return 0;
}

bool Again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.fd_;
    other.fd_ = -1;
  }
  return *this;
}

void Socket::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

ptrdiff_t Socket::Read(char* data, size_t n, Deadline deadline) {
  for (;;) {
    const ssize_t got = recv(fd_, data, n, 0);
    if (got >= 0) return got;
    if (!Again()) return -1;
    if (Wait(fd_, POLLIN, deadline) == 0) return -2;
  }
}

bool Socket::Write(std::string_view bytes, std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (!Again()) return false;
    if ((Wait(fd_, POLLOUT, Clock::now() + patience) & POLLOUT) == 0) return false;
  }
  return true;
}

bool Socket::WaitReadable(Deadline deadline) { return Wait(fd_, POLLIN, deadline) != 0; }

bool Socket::PeerGone() const {
  pollfd entry{fd_, POLLIN | POLLRDHUP, 0};
  if (poll(&entry, 1, 0) <= 0) return false;
  if ((entry.revents & (POLLERR | POLLHUP | POLLNVAL | POLLRDHUP)) != 0) return true;
  char byte = 0;
  const ssize_t got = recv(fd_, &byte, 1, MSG_PEEK);
  return got == 0 || (got < 0 && !Again());
}

void Socket::CloseGently() {
  if (fd_ < 0) return;
  shutdown(fd_, SHUT_WR);
  char thrown_away[4096];
  const Deadline deadline = Clock::now() + kDrainTime;
  for (size_t n = 0; n < kMostDrained;) {
    const ptrdiff_t got = Read(thrown_away, sizeof(thrown_away), deadline);
    if (got <= 0) break;
    n += static_cast<size_t>(got);
  }
  Close();
}

std::string Socket::PeerAddress() const {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  char text[INET6_ADDRSTRLEN] = "";
  if (getpeername(fd_, reinterpret_cast<sockaddr*>(&address), &length) != 0) return "?";
  const void* bytes =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr)
          : &reinterpret_cast<const sockaddr_in&>(address).sin_addr;
  return inet_ntop(address.ss_family, bytes, text, sizeof(text)) != nullptr ? text : "?";
}

std::string Listener::Open(const std::string& host, int port) {
  sockaddr_storage address{};
  const socklen_t length = ToAddress(host == "localhost" ? "127.0.0.1" : host, port, &address);
  if (length == 0) return "want an IPv4 or IPv6 address, or localhost";
  Socket made(socket(address.ss_family, SOCK_STREAM, 0));
  if (!made.valid()) return std::strerror(errno);
  fd_ = made.fd();
  SetUp(fd_);
  const int on = 1;
  setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd_, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(fd_, kBacklog) != 0) {
    return std::strerror(errno);
  }
  socklen_t bound = sizeof(address);
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &bound);
  port_ =
      ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                          : reinterpret_cast<const sockaddr_in&>(address).sin_port);
  socket_ = std::move(made);
  return {};
}

Socket Listener::Accept(int wait_ms, bool* exhausted) {
  *exhausted = false;
  if (!socket_.valid()) return {};
  if (!socket_.WaitReadable(Clock::now() + std::chrono::milliseconds(wait_ms))) return {};
  const int fd = accept(fd_, nullptr, nullptr);
  if (fd < 0) {
    *exhausted = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return {};
  }
  SetUp(fd);
  // A token is a small packet that must not wait for the next one.
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return Socket(fd);
}

}  // namespace krafla::server

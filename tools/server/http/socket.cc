#include "tools/server/http/socket.h"

#include <algorithm>
#include <utility>

#include "tools/server/http/socket_system.h"

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
int Wait(intptr_t handle, short events, Deadline deadline) {
  for (;;) {
    const int happened = PollSocket(handle, events, MillisecondsTo(deadline));
    if (happened != 0) return happened;
    if (Clock::now() >= deadline) return 0;
  }
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

}  // namespace

Socket& Socket::operator=(Socket&& other) noexcept {
  if (this != &other) {
    Close();
    handle_ = std::exchange(other.handle_, -1);
  }
  return *this;
}

void Socket::Close() {
  if (valid()) CloseSocket(handle_);
  handle_ = -1;
}

ptrdiff_t Socket::Read(char* data, size_t n, Deadline deadline) {
  for (;;) {
    const ptrdiff_t got = Receive(handle_, data, n, /*peek=*/false);
    if (got >= 0) return got;
    if (!IsAgain()) return -1;
    if (Wait(handle_, POLLIN, deadline) == 0) return -2;
  }
}

bool Socket::Write(std::string_view bytes, std::chrono::milliseconds patience) {
  while (!bytes.empty()) {
    const ptrdiff_t sent = Send(handle_, bytes.data(), bytes.size());
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    if (!IsAgain()) return false;
    if ((Wait(handle_, POLLOUT, Clock::now() + patience) & POLLOUT) == 0) return false;
  }
  return true;
}

bool Socket::WaitReadable(Deadline deadline) { return Wait(handle_, POLLIN, deadline) != 0; }

bool Socket::PeerGone() const {
  const int happened = PollSocket(handle_, static_cast<short>(POLLIN | kPeerClosed), 0);
  if (happened == 0) return false;
  if ((happened & (POLLERR | POLLHUP | POLLNVAL | kPeerClosed)) != 0) return true;
  char byte = 0;
  const ptrdiff_t got = Receive(handle_, &byte, 1, /*peek=*/true);
  return got == 0 || (got < 0 && !IsAgain());
}

void Socket::CloseGently() {
  if (!valid()) return;
  EndWriting(handle_);
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
  if (getpeername(static_cast<NativeSocket>(handle_), reinterpret_cast<sockaddr*>(&address),
                  &length) != 0)
    return "?";
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
  if (!StartSockets()) return "this system has no sockets";
  Socket made(static_cast<intptr_t>(socket(address.ss_family, SOCK_STREAM, 0)));
  if (!made.valid()) return LastSocketError();
  SetUpSocket(made.handle());
  ReuseAddress(made.handle());
  const auto native = static_cast<NativeSocket>(made.handle());
  if (bind(native, reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      listen(native, kBacklog) != 0) {
    return LastSocketError();
  }
  socklen_t bound = sizeof(address);
  getsockname(native, reinterpret_cast<sockaddr*>(&address), &bound);
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
  const auto native = static_cast<NativeSocket>(socket_.handle());
  Socket accepted(static_cast<intptr_t>(accept(native, nullptr, nullptr)));
  if (!accepted.valid()) {
    *exhausted = IsExhausted();
    return {};
  }
  SetUpSocket(accepted.handle());
  SendAtOnce(accepted.handle());
  return accepted;
}

}  // namespace krafla::server

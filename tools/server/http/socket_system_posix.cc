// POSIX.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/server/http/socket_system.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif
#ifndef POLLRDHUP
#define POLLRDHUP 0
#endif

namespace krafla::server {
namespace {

NativeSocket Fd(intptr_t handle) { return static_cast<NativeSocket>(handle); }

}  // namespace

const short kPeerClosed = POLLRDHUP;

int PollSocket(intptr_t handle, short events, int ms) {
  pollfd entry{Fd(handle), events, 0};
  const int n = poll(&entry, 1, ms);
  if (n > 0) return entry.revents;
  return n == 0 || errno == EINTR ? 0 : POLLERR;
}

ptrdiff_t Receive(intptr_t handle, char* data, size_t n, bool peek) {
  return recv(Fd(handle), data, n, peek ? MSG_PEEK : 0);
}

ptrdiff_t Send(intptr_t handle, const char* data, size_t n) {
  return send(Fd(handle), data, n, MSG_NOSIGNAL);
}

bool IsAgain() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

bool IsExhausted() {
  return errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
}

std::string LastSocketError() { return std::strerror(errno); }

bool StartSockets() { return true; }

void SetUpSocket(intptr_t handle) {
  fcntl(Fd(handle), F_SETFD, FD_CLOEXEC);
  fcntl(Fd(handle), F_SETFL, fcntl(Fd(handle), F_GETFL) | O_NONBLOCK);
}

void ReuseAddress(intptr_t handle) {
  const int on = 1;
  setsockopt(Fd(handle), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
}

void SendAtOnce(intptr_t handle) {
  const int on = 1;
  setsockopt(Fd(handle), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

void EndWriting(intptr_t handle) { shutdown(Fd(handle), SHUT_WR); }

void CloseSocket(intptr_t handle) { close(Fd(handle)); }

}  // namespace krafla::server

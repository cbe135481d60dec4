// Windows Sockets 2.
#include <algorithm>
#include <climits>

#include "tools/server/http/socket_system.h"

namespace krafla::server {
namespace {

NativeSocket Of(intptr_t handle) { return static_cast<NativeSocket>(handle); }

void Set(intptr_t handle, int level, int option) {
  const BOOL on = TRUE;
  setsockopt(Of(handle), level, option, reinterpret_cast<const char*>(&on), sizeof(on));
}

int Length(size_t n) { return static_cast<int>(std::min<size_t>(n, INT_MAX)); }

}  // namespace

const short kPeerClosed = 0;  // WSAPoll takes no more than it knows

int PollSocket(intptr_t handle, short events, int ms) {
  WSAPOLLFD entry{Of(handle), events, 0};
  const int n = WSAPoll(&entry, 1, ms);
  if (n > 0) return entry.revents;
  return n == 0 ? 0 : POLLERR;
}

ptrdiff_t Receive(intptr_t handle, char* data, size_t n, bool peek) {
  return recv(Of(handle), data, Length(n), peek ? MSG_PEEK : 0);
}

ptrdiff_t Send(intptr_t handle, const char* data, size_t n) {
  return send(Of(handle), data, Length(n), 0);
}

bool IsAgain() { return WSAGetLastError() == WSAEWOULDBLOCK || WSAGetLastError() == WSAEINTR; }

bool IsExhausted() { return WSAGetLastError() == WSAEMFILE || WSAGetLastError() == WSAENOBUFS; }

std::string LastSocketError() {
  const int code = WSAGetLastError();
  switch (code) {
    case WSAEADDRINUSE:
      return "Address already in use";
    case WSAEADDRNOTAVAIL:
      return "Cannot assign requested address";
    case WSAEACCES:
      return "Permission denied";
    case WSAEAFNOSUPPORT:
      return "Address family not supported";
    default:
      return "Windows Sockets error " + std::to_string(code);
  }
}

bool StartSockets() {
  static const bool started = [] {
    WSADATA data;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
  }();
  return started;
}

void SetUpSocket(intptr_t handle) {
  u_long on = 1;
  ioctlsocket(Of(handle), FIONBIO, &on);
  SetHandleInformation(reinterpret_cast<HANDLE>(handle), HANDLE_FLAG_INHERIT, 0);
}

// Here SO_REUSEADDR would let two servers listen at one port.
void ReuseAddress(intptr_t handle) { Set(handle, SOL_SOCKET, SO_EXCLUSIVEADDRUSE); }

void SendAtOnce(intptr_t handle) { Set(handle, IPPROTO_TCP, TCP_NODELAY); }

void EndWriting(intptr_t handle) { shutdown(Of(handle), SD_SEND); }

void CloseSocket(intptr_t handle) { closesocket(Of(handle)); }

}  // namespace krafla::server

// What sockets are on this system: the headers, and the calls that differ. Sockets never block.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_SOCKET_SYSTEM_H_
#define KRAFLA_TOOLS_SERVER_HTTP_SOCKET_SYSTEM_H_

#if defined(_WIN32)
#include <winsock2.h>
// After winsock2.h.
#include <ws2tcpip.h>
#else
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#endif

#include <cstddef>
#include <cstdint>
#include <string>

namespace krafla::server {

#if defined(_WIN32)
using NativeSocket = SOCKET;
#else
using NativeSocket = int;
#endif

// The system's poll(), on one socket. revents; 0 when the time is over, POLLERR on an error. Of
// kPeerClosed a system may know nothing (0).
int PollSocket(intptr_t handle, short events, int ms);
extern const short kPeerClosed;

// As recv and send; no signal is raised.
ptrdiff_t Receive(intptr_t handle, char* data, size_t n, bool peek);
ptrdiff_t Send(intptr_t handle, const char* data, size_t n);

// Of the last call: to be made again, no room for another socket, its message.
bool IsAgain();
bool IsExhausted();
std::string LastSocketError();

// Once before any socket is made; false where the system has none.
bool StartSockets();
// Non-blocking, and not given to programs that are started.
void SetUpSocket(intptr_t handle);
// A listening address may be taken anew at once after its server ended, never beside a live one.
void ReuseAddress(intptr_t handle);
// Each packet at once: a token is small, and is not to wait for the next one.
void SendAtOnce(intptr_t handle);
void EndWriting(intptr_t handle);
void CloseSocket(intptr_t handle);

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_SOCKET_SYSTEM_H_

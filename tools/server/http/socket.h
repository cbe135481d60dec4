// TCP sockets with deadlines: no call waits longer than it was told to, and none takes the process
// down with a signal.
#ifndef KRAFLA_TOOLS_SERVER_HTTP_SOCKET_H_
#define KRAFLA_TOOLS_SERVER_HTTP_SOCKET_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace krafla::server {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

class Socket {
 public:
  Socket() = default;
  explicit Socket(intptr_t handle) : handle_(handle) {}
  Socket(Socket&& other) noexcept : handle_(other.handle_) { other.handle_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  ~Socket() { Close(); }

  bool valid() const { return handle_ != -1; }
  intptr_t handle() const { return handle_; }
  // Bytes read; 0: the peer has closed its side; -1: an error; -2: the deadline has passed.
  ptrdiff_t Read(char* data, size_t n, Deadline deadline);
  // False where the peer is gone or takes nothing for `patience`.
  bool Write(std::string_view bytes, std::chrono::milliseconds patience);
  // Waits for something to read, or the peer's end: true; false when the deadline has passed.
  bool WaitReadable(Deadline deadline);
  // The peer has closed its side or reset the connection.
  bool PeerGone() const;
  // No more is written; what still comes is thrown away for a moment, so that the peer gets to
  // read the last reply before its own bytes meet a closed socket.
  void CloseGently();
  void Close();
  std::string PeerAddress() const;

 private:
  intptr_t handle_ = -1;  // a descriptor, or a SOCKET of Windows; -1: none
};

class Listener {
 public:
  // "" or what went wrong. port 0: any free one.
  std::string Open(const std::string& host, int port);
  int port() const { return port_; }
  // The next connection; an invalid one after wait_ms without any, or where the system has no
  // descriptor left (*exhausted).
  Socket Accept(int wait_ms, bool* exhausted);
  void Close() { socket_.Close(); }

 private:
  Socket socket_;
  int port_ = 0;
};

}  // namespace krafla::server

#endif  // KRAFLA_TOOLS_SERVER_HTTP_SOCKET_H_

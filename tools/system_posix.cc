// See system.h. POSIX read and write with their partial results and EINTR dealt with.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "tools/interrupt.h"
#include "tools/system.h"

namespace krafla::tools {

std::vector<std::string> ProgramArguments(int argc, char** argv) { return {argv, argv + argc}; }

void PrepareStandardStreams() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is fd itself, as those below it are taken; opened the wrong way round.
    (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

bool TerminalHasEscapes() {
  const char* term = std::getenv("TERM");
  return term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
}

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<size_t>(n));
    } else if (errno == EAGAIN) {  // the shell may have left the terminal non-blocking
      pollfd wait{fd, POLLOUT, 0};
      poll(&wait, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool WaitForInput(int fd) {
  // Woken now and then, because a signal may come just before the wait, or to another thread.
  constexpr int kWakeMs = 100;
  for (;;) {
    if (Interrupted()) return false;
    pollfd wait{fd, POLLIN, 0};
    if (poll(&wait, 1, kWakeMs) > 0) return true;
  }
}

ptrdiff_t ReadSome(int fd, char* bytes, size_t size) { return read(fd, bytes, size); }

int OpenFile(const std::string& path, int flags) {
  return open(path.c_str(), flags | O_CLOEXEC, 0666);
}

}  // namespace krafla::tools

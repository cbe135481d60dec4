// POSIX read and write with their partial results and EINTR dealt with.
#include "tools/output.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/interrupt.h"

namespace krafla::tools {

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

ExitCode WriteStdout(std::string_view bytes) {
  const int error = WriteAll(STDOUT_FILENO, bytes);
  if (error == 0) return kExitOk;
  if (error == EPIPE) return kExitOther;
  return Fail(kExitOther, "stdout: {}", std::strerror(error));
}

void WriteStderr(std::string_view bytes) { (void)WriteAll(STDERR_FILENO, bytes); }

void OccupyStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is fd itself, as those below it are taken; opened the wrong way round.
    (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
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

ExitCode ReadAll(int fd, std::string_view what, std::string* bytes) {
  constexpr size_t kMost = 256 << 20;  // a device may never end
  char chunk[1 << 16];
  bytes->clear();
  for (;;) {
    if (!WaitForInput(fd)) return kExitInterrupted;
    const ssize_t n = read(fd, chunk, sizeof(chunk));
    if (n == 0) return Interrupted() ? kExitInterrupted : kExitOk;
    if (n > 0) {
      bytes->append(chunk, static_cast<size_t>(n));
      if (bytes->size() > kMost) {
        return Fail(kExitArguments, "{}: more than {} bytes", what, kMost);
      }
    } else if (errno != EINTR) {
      return Fail(kExitArguments, "{}: {}", what, std::strerror(errno));
    }
  }
}

ExitCode ReadFile(const std::string& path, std::string* bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Fail(kExitArguments, "{}: {}", path, std::strerror(errno));
  const ExitCode exit_code = ReadAll(fd, path, bytes);
  close(fd);
  return exit_code;
}

LineEnd ReadLine(std::string* line) {
  line->clear();
  for (;;) {
    if (!WaitForInput(STDIN_FILENO)) return LineEnd::kInterrupted;
    char c = 0;
    const ssize_t n = read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line->empty() ? LineEnd::kEndOfInput : LineEnd::kNewline;
    if (c == '\n') return LineEnd::kNewline;
    line->push_back(c);
  }
}

bool IsTerminal(int fd) { return isatty(fd) == 1; }

}  // namespace krafla::tools

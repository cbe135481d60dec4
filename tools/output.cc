// Over the system's reads and writes (system.h).
#include "tools/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/interrupt.h"

namespace krafla::tools {

ExitCode WriteStdout(std::string_view bytes) {
  const int error = WriteAll(STDOUT_FILENO, bytes);
  if (error == 0) return kExitOk;
  if (error == EPIPE) return kExitOther;
  return Fail(kExitOther, "stdout: {}", std::strerror(error));
}

void WriteStderr(std::string_view bytes) { (void)WriteAll(STDERR_FILENO, bytes); }

ExitCode ReadAll(int fd, std::string_view what, std::string* bytes) {
  constexpr size_t kMost = 256 << 20;  // a device may never end
  char chunk[1 << 16];
  bytes->clear();
  for (;;) {
    if (!WaitForInput(fd)) return kExitInterrupted;
    const ptrdiff_t n = ReadSome(fd, chunk, sizeof(chunk));
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
  const int fd = OpenFile(path, O_RDONLY);
  if (fd < 0) return Fail(kExitArguments, "{}: {}", path, std::strerror(errno));
  const ExitCode exit_code = ReadAll(fd, path, bytes);
  close(fd);
  return exit_code;
}

ExitCode CheckOutput(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path output = PathOf(path);
  const fs::path folder = output.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return Fail(kExitArguments, "{}: there is no folder {}", path, TextOf(folder));
  }
  if (fs::exists(output, error) && !fs::is_regular_file(output, error)) {
    return Fail(kExitArguments, "{}: exists and is not a regular file", path);
  }
  return kExitOk;
}

LineEnd ReadLine(std::string* line) {
  line->clear();
  for (;;) {
    if (!WaitForInput(STDIN_FILENO)) return LineEnd::kInterrupted;
    char c = 0;
    const ptrdiff_t n = ReadSome(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line->empty() ? LineEnd::kEndOfInput : LineEnd::kNewline;
    if (c == '\n') return LineEnd::kNewline;
    line->push_back(c);
  }
}

}  // namespace krafla::tools

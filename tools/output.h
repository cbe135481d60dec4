// Reading and writing file descriptors whole: no buffer between the model and the reader, and a
// closed pipe, a full disk and Ctrl-C each told apart.
#ifndef KRAFLA_TOOLS_OUTPUT_H_
#define KRAFLA_TOOLS_OUTPUT_H_

#include <string>
#include <string_view>

#include "tools/exit_code.h"

namespace krafla::tools {

// 0, or the errno of the write that failed.
int WriteAll(int fd, std::string_view bytes);

// Writes to stdout; kExitOther on failure, silently where the reader has gone away (EPIPE).
ExitCode WriteStdout(std::string_view bytes);

// To stderr, whatever becomes of it: a log that nobody can read is no failure.
void WriteStderr(std::string_view bytes);

// Fills descriptors 0 to 2 where the caller left them closed, so that no file of ours gets their
// number: a message must not land in a model. They still refuse to be read or written.
void OccupyStandardDescriptors();

// Waits until there is something to read, or the end of it; false after a Ctrl-C.
bool WaitForInput(int fd);

// All of fd to its end; kExitInterrupted after a Ctrl-C, kExitArguments beyond 256 MiB. `what`
// names it in messages.
ExitCode ReadAll(int fd, std::string_view what, std::string* bytes);

ExitCode ReadFile(const std::string& path, std::string* bytes);

// One line of stdin, byte by byte so that nothing behind it is taken; without its newline.
enum class LineEnd { kNewline, kEndOfInput, kInterrupted };
LineEnd ReadLine(std::string* line);

bool IsTerminal(int fd);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_OUTPUT_H_

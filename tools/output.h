// Reading and writing file descriptors whole: no buffer between the model and the reader, and a
// closed pipe, a full disk and Ctrl-C each told apart.
#ifndef KRAFLA_TOOLS_OUTPUT_H_
#define KRAFLA_TOOLS_OUTPUT_H_

#include <string>
#include <string_view>

#include "tools/exit_code.h"
#include "tools/system.h"

namespace krafla::tools {

// Writes to stdout; kExitOther on failure, silently where the reader has gone away (EPIPE).
ExitCode WriteStdout(std::string_view bytes);

// To stderr, whatever becomes of it: a log that nobody can read is no failure.
void WriteStderr(std::string_view bytes);

// All of fd to its end; kExitInterrupted after a Ctrl-C, kExitArguments beyond 256 MiB. `what`
// names it in messages.
ExitCode ReadAll(int fd, std::string_view what, std::string* bytes);

ExitCode ReadFile(const std::string& path, std::string* bytes);

// Before long work whose result goes there: kExitArguments where there is no folder for it, or
// something that is no file.
ExitCode CheckOutput(const std::string& path);

// One line of stdin, byte by byte so that nothing behind it is taken; without its newline.
enum class LineEnd { kNewline, kEndOfInput, kInterrupted };
LineEnd ReadLine(std::string* line);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_OUTPUT_H_

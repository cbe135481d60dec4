// What the programs need of the operating system beyond C++: POSIX in system_posix.cc, Windows in
// system_windows.cc. Descriptors are the C library's, texts and paths are UTF-8 everywhere.
#ifndef KRAFLA_TOOLS_SYSTEM_H_
#define KRAFLA_TOOLS_SYSTEM_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace krafla::tools {

// The arguments, the program's name first: on Windows not main's, which are not Unicode.
std::vector<std::string> ProgramArguments(int argc, char** argv);

// Before anything else. POSIX: fills descriptors 0 to 2 where the caller left them closed, so that
// no file of ours gets their number (a message must not land in a model); they still refuse to be
// read or written. Windows: bytes go through them unchanged, and a console understands what
// Progress writes.
void PrepareStandardStreams();

bool IsTerminal(int fd);

// Whether a terminal, if one is there, understands escape sequences.
bool TerminalHasEscapes();

// 0, or the errno of the write that failed.
int WriteAll(int fd, std::string_view bytes);

// Waits until there is something to read, or the end of it; false after a Ctrl-C.
bool WaitForInput(int fd);

// What there is, at most `size` bytes; 0 at the end; -1 with errno (EINTR after a signal). Of a
// Windows console it reads whole lines, as UTF-8.
ptrdiff_t ReadSome(int fd, char* bytes, size_t size);

// For std::filesystem, to which a plain string is one in the system's code page.
inline std::filesystem::path PathOf(const std::string& utf8) {
  return std::u8string(utf8.begin(), utf8.end());
}
inline std::string TextOf(const std::filesystem::path& path) {
  const std::u8string utf8 = path.u8string();
  return {utf8.begin(), utf8.end()};
}

// open(), for a path in UTF-8, with none of the C library's translations; -1 with errno.
int OpenFile(const std::string& path, int flags);

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_SYSTEM_H_

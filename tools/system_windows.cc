// See system.h. A console is read and written in UTF-16, so its code page does not matter: text
// that streams out may end inside a code point, whose bytes wait for the rest. Files and pipes get
// the bytes as they are.
#include <fcntl.h>
#include <io.h>
#include <windows.h>
// after windows.h
#include <shellapi.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tools/interrupt.h"
#include "tools/system.h"
#include "tools/text_cells.h"

namespace krafla::tools {
namespace {

constexpr int kInput = 0;
constexpr int kOutput = 1;
constexpr int kErrors = 2;
constexpr DWORD kWakeMs = 100;         // as on POSIX
constexpr wchar_t kEndOfInput = 0x1A;  // Ctrl-Z, at the start of a line

std::string pending_output[3];  // of each descriptor: the beginning of a code point
std::string pending_input;      // of a line, what nobody has read yet
DWORD mode_before[3];

HANDLE HandleOf(int fd) { return reinterpret_cast<HANDLE>(_get_osfhandle(fd)); }

bool GetMode(int fd, DWORD* mode) {
  return _get_osfhandle(fd) >= 0 && GetConsoleMode(HandleOf(fd), mode) != 0;
}

bool IsConsole(int fd) {
  DWORD mode = 0;
  return GetMode(fd, &mode);
}

std::wstring Wide(std::string_view utf8) {
  const auto size = static_cast<int>(utf8.size());
  std::wstring wide(
      static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, utf8.data(), size, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string Narrow(std::wstring_view wide) {
  const auto size = static_cast<int>(wide.size());
  std::string utf8(static_cast<size_t>(WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, nullptr,
                                                           0, nullptr, nullptr)),
                   '\0');
  WideCharToMultiByte(CP_UTF8, 0, wide.data(), size, utf8.data(), static_cast<int>(utf8.size()),
                      nullptr, nullptr);
  return utf8;
}

// How much of the text is whole: it may end in 1 to 3 bytes of a code point that goes on.
size_t WholeLength(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? text.size() - back : text.size();
  }
  return text.size();
}

int WriteToConsole(int fd, std::string_view bytes) {
  std::string& pending = pending_output[fd];
  pending += bytes;
  const size_t whole = WholeLength(pending);
  const std::wstring wide = Wide(std::string_view(pending).substr(0, whole));
  pending.erase(0, whole);
  constexpr size_t kMost = 8192;  // older systems refuse more than 64 KiB in a call
  for (std::wstring_view rest = wide; !rest.empty();) {
    DWORD written = 0;
    const auto n = static_cast<DWORD>(std::min(rest.size(), kMost));
    if (WriteConsoleW(HandleOf(fd), rest.data(), n, &written, nullptr) == 0) return EIO;
    rest.remove_prefix(written);
  }
  return 0;
}

// The next line of the console into pending_input; nothing at the end of input. -1 after a Ctrl-C.
int ReadConsoleLine() {
  std::wstring line;
  while (line.empty() || line.back() != L'\n') {
    wchar_t piece[1024];
    DWORD n = 0;
    constexpr DWORD kSize = sizeof(piece) / sizeof(piece[0]);
    if (ReadConsoleW(HandleOf(kInput), piece, kSize, &n, nullptr) == 0 || n == 0) {
      if (Interrupted() || GetLastError() == ERROR_OPERATION_ABORTED) {
        errno = EINTR;
        return -1;
      }
      break;
    }
    line.append(piece, n);
    if (line[0] == kEndOfInput) return 0;
  }
  if (line.ends_with(L"\r\n")) line.erase(line.size() - 2, 1);
  pending_input += Narrow(line);
  return 0;
}

void RestoreConsoles() {
  for (const int fd : {kOutput, kErrors}) {
    if (mode_before[fd] != 0) SetConsoleMode(HandleOf(fd), mode_before[fd]);
  }
}

}  // namespace

std::vector<std::string> ProgramArguments(int argc, char** argv) {
  int n = 0;
  wchar_t** const wide = CommandLineToArgvW(GetCommandLineW(), &n);
  if (wide == nullptr) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < n; ++i) arguments.push_back(Narrow(wide[i]));
  LocalFree(wide);
  return arguments;
}

void PrepareStandardStreams() {
  for (const int fd : {kInput, kOutput, kErrors}) {
    // A program without a console may have none of them.
    if (_get_osfhandle(fd) >= 0) _setmode(fd, _O_BINARY);
  }
  for (const int fd : {kOutput, kErrors}) {
    DWORD mode = 0;
    if (!GetMode(fd, &mode)) continue;
    mode_before[fd] = mode;
    SetConsoleMode(HandleOf(fd),
                   mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
  std::atexit(RestoreConsoles);
}

bool IsTerminal(int fd) { return IsConsole(fd); }

// The console's own line editor is used: it knows its keys, input methods and history.
bool TerminalHasEscapes() { return false; }

int WriteAll(int fd, std::string_view bytes) {
  if ((fd == kOutput || fd == kErrors) && IsConsole(fd)) return WriteToConsole(fd, bytes);
  while (!bytes.empty()) {
    constexpr size_t kMost = size_t{1} << 30;
    const int n = _write(fd, bytes.data(), static_cast<unsigned>(std::min(bytes.size(), kMost)));
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

bool WaitForInput(int fd) {
  const HANDLE handle = HandleOf(fd);
  const DWORD type = GetFileType(handle);
  for (;;) {
    if (Interrupted()) return false;
    if (fd == kInput && !pending_input.empty()) return true;
    if (IsConsole(fd)) {
      if (WaitForSingleObject(handle, kWakeMs) != WAIT_TIMEOUT) return true;
      continue;
    }
    // Nothing waits on a pipe but a read, which Ctrl-C would not end.
    DWORD available = 0;
    const bool waits =
        type == FILE_TYPE_PIPE && PeekNamedPipe(handle, nullptr, 0, nullptr, &available, nullptr);
    if (!waits || available != 0) return true;
    Sleep(1);
  }
}

ptrdiff_t ReadSome(int fd, char* bytes, size_t size) {
  if (fd != kInput || !IsConsole(fd)) {
    constexpr size_t kMost = size_t{1} << 30;
    const int n = _read(fd, bytes, static_cast<unsigned>(std::min(size, kMost)));
    return n < 0 && errno == EPIPE ? 0 : n;  // the writer has gone: the end
  }
  if (pending_input.empty() && ReadConsoleLine() != 0) return -1;
  const size_t n = std::min(size, pending_input.size());
  std::copy_n(pending_input.begin(), n, bytes);
  pending_input.erase(0, n);
  return static_cast<ptrdiff_t>(n);
}

int OpenFile(const std::string& path, int flags) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::wstring wide = Wide(path);
  // As the library does (lib/base/wide_text.h).
  if (const fs::path full = fs::absolute(wide, error); !error && full.native().size() >= 248) {
    const std::wstring& name = full.native();
    if (!name.starts_with(L"\\\\")) wide = L"\\\\?\\" + fs::path(full).make_preferred().native();
  }
  return _wopen(wide.c_str(), flags | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

}  // namespace krafla::tools

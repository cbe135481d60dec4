// termios, and bracketed paste (the terminal marks what is pasted, so that a pasted line break does
// not send a line).
#include "tools/raw_mode_posix.h"

#include <locale.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <cwchar>

#include "tools/raw_mode.h"
#include "tools/system.h"

namespace krafla::tools {
namespace {

termios original;  // while there is an object

}  // namespace

RawMode::RawMode() {
  if (tcgetattr(STDIN_FILENO, &original) != 0) return;
  termios raw = original;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  SetTerminalToRestore(&original);
  // What was typed ahead is kept: no flush.
  active_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  if (active_) WriteAll(STDERR_FILENO, "\x1b[?2004h");
}

RawMode::~RawMode() {
  if (active_) {
    WriteAll(STDERR_FILENO, "\x1b[?2004l");
    tcsetattr(STDIN_FILENO, TCSADRAIN, &original);
  }
  SetTerminalToRestore(nullptr);
}

void SuspendProcess() {
  termios raw;
  tcgetattr(STDIN_FILENO, &raw);
  {
    termios cooked = raw;
    cooked.c_iflag |= ICRNL;
    cooked.c_lflag |= ECHO | ICANON | IEXTEN | ISIG;
    tcsetattr(STDIN_FILENO, TCSADRAIN, &cooked);
  }
  raise(SIGTSTP);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

int ReadKey(int timeout_ms) {
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return -1;
  unsigned char key = 0;
  return read(STDIN_FILENO, &key, 1) == 1 ? key : -1;
}

TerminalSize GetTerminalSize() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? TerminalSize{size.ws_col, size.ws_row > 0 ? size.ws_row : 24}
               : TerminalSize{80, 24};
}

// The C library's Unicode tables: those of its C.UTF-8 locale, whatever the user's is.
int SystemWidthOf(char32_t c) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (unicode == nullptr) return -1;
  const locale_t before = uselocale(unicode);
  const int width = wcwidth(static_cast<wchar_t>(c));
  uselocale(before);
  return width < 0 ? 0 : width;
}

}  // namespace krafla::tools

// termios, and bracketed paste (the terminal marks what is pasted, so that a pasted line break does
// not send a line).
#include "tools/raw_mode.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/interrupt.h"
#include "tools/output.h"

namespace krafla::tools {

RawMode::RawMode() {
  if (tcgetattr(STDIN_FILENO, &original_) != 0) return;
  termios raw = original_;
  raw.c_iflag &= ~static_cast<tcflag_t>(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  SetTerminalToRestore(&original_);
  // What was typed ahead is kept: no flush.
  active_ = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  if (active_) WriteAll(STDERR_FILENO, "\x1b[?2004h");
}

RawMode::~RawMode() {
  if (active_) {
    WriteAll(STDERR_FILENO, "\x1b[?2004l");
    tcsetattr(STDIN_FILENO, TCSADRAIN, &original_);
  }
  SetTerminalToRestore(nullptr);
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

}  // namespace krafla::tools

// The terminal in raw mode while an object lives: keys come one by one, unechoed, Ctrl-C as a byte.
#ifndef KRAFLA_TOOLS_RAW_MODE_H_
#define KRAFLA_TOOLS_RAW_MODE_H_

#include <termios.h>

namespace krafla::tools {

class RawMode {
 public:
  RawMode();
  ~RawMode();
  RawMode(const RawMode&) = delete;
  RawMode& operator=(const RawMode&) = delete;

  bool active() const { return active_; }

 private:
  termios original_{};
  bool active_ = false;
};

// The next byte of the keyboard within the time, or -1 after it, at the end of input and after a
// signal.
int ReadKey(int timeout_ms);

struct TerminalSize {
  int columns;
  int rows;
};
TerminalSize GetTerminalSize();

}  // namespace krafla::tools

#endif  // KRAFLA_TOOLS_RAW_MODE_H_
